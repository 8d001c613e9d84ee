import type { ReactNode } from 'react'
import { Link } from 'wouter'

import { AuditLog as AuditLogQuery, type AuditLogData } from '../data/documents.ts'
import { usePages } from '../data/use-pages.ts'
import { Button } from './button.tsx'
import { Folded } from './folded.tsx'
import { JsonView } from './json-view.tsx'
import { Problem } from './problem.tsx'
import { Skeleton } from './skeleton.tsx'
import { Ago } from './time.tsx'

type Entry = AuditLogData['auditLog']['nodes'][number]

/** Pages that show an object, by the prefix of its id. */
const pages: Readonly<Record<string, string>> = { agent: 'agents', conv: 'conversations', run: 'runs' }

/** Who changed what, newest first. */
export function AuditLog(): ReactNode {
  const log = usePages(AuditLogQuery, { first: 20 }, ({ auditLog }) => auditLog)
  return (
    <section aria-labelledby="audit">
      <h2 id="audit">Audit log</h2>
      {log.error && <Problem>{log.error.message}</Problem>}
      {!log.nodes && !log.error && <Skeleton />}
      {log.nodes?.length === 0 && <p className="quiet">Nothing was changed yet.</p>}
      {log.nodes && log.nodes.length > 0 && (
        <div className="data" tabIndex={0} role="group" aria-label="List of changes">
          <table aria-label="Audit log">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Who</th>
                <th scope="col">What</th>
                <th scope="col">Object</th>
                <th scope="col">Settings</th>
              </tr>
            </thead>
            <tbody>
              {log.nodes.map((entry) => (
                <tr key={entry.id}>
                  <td className="nowrap">
                    <Ago at={entry.at} />
                  </td>
                  <td>{entry.actor?.name ?? 'the server'}</td>
                  <td className="mono">{entry.action}</td>
                  <td className="mono cut">
                    <Subject id={entry.subjectId} />
                  </td>
                  <td>
                    <Change entry={entry} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {log.hasMore && (
        <div className="row center">
          <Button onClick={log.more}>Show more changes</Button>
        </div>
      )}
    </section>
  )
}

function Subject({ id }: { readonly id: string }): ReactNode {
  const page = pages[id.split('_')[0]!]
  return page ? <Link href={`/${page}/${id}`}>{id}</Link> : id
}

function Change({ entry: { before, after } }: { readonly entry: Entry }): ReactNode {
  if (before === null && after === null) return <span className="quiet">–</span>
  return (
    <Folded className="change" summary={before === null ? 'Created' : after === null ? 'Removed' : 'Changed'}>
      {before !== null && (
        <>
          <h4>Before</h4>
          <JsonView value={before} />
        </>
      )}
      {after !== null && (
        <>
          <h4>After</h4>
          <JsonView value={after} />
        </>
      )}
    </Folded>
  )
}
