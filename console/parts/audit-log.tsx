import type { ReactNode } from 'react'
import { Link } from 'wouter'

import { AuditLog as AuditLogQuery, type AuditLogData } from '../data/documents.ts'
import { addressOf } from '../data/places.ts'
import { usePages } from '../data/use-pages.ts'
import { Folded } from './folded.tsx'
import { JsonView } from './json-view.tsx'
import { Loading } from './loading.tsx'
import { ShowMore } from './show-more.tsx'
import { Table } from './table.tsx'
import { Ago } from './time.tsx'

type Entry = AuditLogData['auditLog']['nodes'][number]

/** Who changed what, newest first. */
export function AuditLog(): ReactNode {
  const log = usePages(AuditLogQuery, { first: 20 }, ({ auditLog }) => auditLog)
  return (
    <section aria-labelledby="audit">
      <h2 id="audit">Audit log</h2>
      <Loading of={log} data={log.nodes} />
      {log.nodes?.length === 0 && <p className="quiet">Nothing was changed yet.</p>}
      {log.nodes && log.nodes.length > 0 && (
        <Table
          label="Audit log"
          rows={log.nodes}
          columns={[
            { head: 'When', className: 'nowrap', cell: ({ at }) => <Ago at={at} /> },
            { head: 'Who', cell: ({ actor }) => actor?.name ?? 'the server' },
            { head: 'What', className: 'mono', cell: ({ action }) => action },
            { head: 'Object', className: 'mono cut', cell: ({ subjectId }) => <Subject id={subjectId} /> },
            { head: 'Settings', cell: (entry) => <Change entry={entry} /> },
          ]}
        />
      )}
      <ShowMore of={log} label="Show more changes" />
    </section>
  )
}

function Subject({ id }: { readonly id: string }): ReactNode {
  const address = addressOf(id)
  return address ? <Link href={address}>{id}</Link> : id
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
