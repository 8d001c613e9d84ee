import type { ReactNode } from 'react'

import { Ago } from './time.tsx'

interface Worker {
  readonly id: string
  readonly hostname: string
  readonly version: string
  readonly capacity: number
  readonly activeRunCount: number
  readonly startedAt: string
  readonly lastSeenAt: string
}

/** The processes that drive runs. */
export function WorkerTable({ workers }: { readonly workers: readonly Worker[] }): ReactNode {
  return (
    <section aria-labelledby="workers">
      <h2 id="workers">Workers</h2>
      <div className="data" tabIndex={0} role="group" aria-label="List of workers">
        <table aria-label="Workers">
          <thead>
            <tr>
              <th scope="col">Machine</th>
              <th scope="col">Version</th>
              <th scope="col" className="number">
                Runs
              </th>
              <th scope="col">Started</th>
              <th scope="col">Last seen</th>
            </tr>
          </thead>
          <tbody>
            {workers.map((worker) => (
              <tr key={worker.id}>
                <td>{worker.hostname}</td>
                <td>{worker.version}</td>
                <td className="number">
                  {worker.activeRunCount} of {worker.capacity}
                </td>
                <td>
                  <Ago at={worker.startedAt} />
                </td>
                <td>
                  <Ago at={worker.lastSeenAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
