import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import type { InboxCallFields } from '../../client/documents.ts'
import { DecidedCalls } from '../data/documents.ts'
import { useQuery } from '../data/use-query.ts'
import { DecisionTaken } from './decision-taken.tsx'
import { Empty } from './empty.tsx'
import { Loading } from './loading.tsx'
import { Status } from './status.tsx'
import { summaryOf } from './tool-call.tsx'

/** Calls that were decided: what, by whom, and what came of it. */
export function DecidedList({ calls }: { readonly calls: readonly InboxCallFields[] }): ReactNode {
  return (
    <ul className="settled" aria-label="Decided">
      {calls.map((call) => (
        <li key={call.id}>
          <Link href={`/conversations/${call.conversation.id}`}>{call.name}</Link>
          {call.decision ? <DecisionTaken decision={call.decision} /> : <span className="quiet">no longer waits</span>}
          {(call.status !== 'READY' || !call.decision) && <Status value={call.status} />}
          <p className="quiet clamp">{summaryOf(call)}</p>
        </li>
      ))}
    </ul>
  )
}

const dayMs = 86_400_000

/** What was decided in the last seven days, newest first. `live` are those that changed since the page was opened. */
export function LatelyDecided({ live }: { readonly live: readonly InboxCallFields[] }): ReactNode {
  const [since] = useState(() => new Date(Date.now() - 7 * dayMs).toISOString())
  const revision = live.map(({ id, status }) => `${id} ${status}`).join()
  const query = useQuery(DecidedCalls, { since }, revision)
  const calls = (query.data?.toolCalls.nodes ?? [])
    .filter(({ decision }) => decision)
    .toSorted((a, b) => Date.parse(b.decision!.decidedAt) - Date.parse(a.decision!.decidedAt))
  if (!query.data) return <Loading of={query} data={undefined} />
  if (calls.length === 0) return <Empty icon="check" title="Nothing was decided in the last seven days" />
  return (
    <>
      <DecidedList calls={calls} />
      {query.data.toolCalls.pageInfo.hasPreviousPage && <p className="quiet">Only the newest are listed.</p>}
    </>
  )
}
