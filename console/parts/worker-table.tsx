import type { ReactNode } from 'react'

import type { WorkersData } from '../data/documents.ts'
import { Table } from './table.tsx'
import { Ago } from './time.tsx'

/** The processes that drive runs. */
export function WorkerTable({ workers }: { readonly workers: NonNullable<WorkersData['workers']> }): ReactNode {
  return (
    <section aria-labelledby="workers">
      <h2 id="workers">Workers</h2>
      <Table
        label="Workers"
        rows={workers}
        columns={[
          { head: 'Machine', cell: ({ hostname }) => hostname },
          { head: 'Version', cell: ({ version }) => version },
          { head: 'Runs', className: 'number', cell: (worker) => `${worker.activeRunCount} of ${worker.capacity}` },
          { head: 'Started', cell: ({ startedAt }) => <Ago at={startedAt} /> },
          { head: 'Last seen', cell: ({ lastSeenAt }) => <Ago at={lastSeenAt} /> },
        ]}
      />
    </section>
  )
}
