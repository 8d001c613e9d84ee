import type { ReactNode } from 'react'
import { Link } from 'wouter'

import { isRunOver } from '../../client/transcript.ts'
import { useConversation } from '../../react/use-conversation.ts'
import type { RunPageData } from '../data/documents.ts'
import { words } from '../data/format.ts'
import { PlainText } from './plain-text.tsx'

/** What a queued run waits for, live, and what it was sent. */
export function QueuePlace({ run }: { readonly run: NonNullable<RunPageData['run']> }): ReactNode {
  const { latestRun, queue, isLoaded } = useConversation(run.conversation.id)
  const runs = latestRun && !isRunOver(latestRun.status) ? [latestRun, ...queue] : queue
  const place = runs.findIndex(({ id }) => id === run.id)
  const ahead = place > 0 ? runs.slice(0, place) : []
  const [next] = ahead
  if (!isLoaded) return null
  return (
    <section className="panel" aria-label="Waiting for its turn">
      <header>
        <h2>{next ? 'Waiting for its turn' : 'Waiting for a worker'}</h2>
      </header>
      <p>
        {next ? (
          <>
            A conversation has one run at a time. This one starts after{' '}
            <Link href={`/runs/${next.id}`}>{next.status === 'QUEUED' ? 'the run before it' : 'the active run'}</Link> (
            {words(next.status).toLowerCase()}){ahead.length > 1 && ` and ${ahead.length - 1} more in the queue`}.
          </>
        ) : (
          <>
            It starts as soon as a worker is free. <Link href="/settings">Settings</Link> lists the workers.
          </>
        )}
      </p>
      {run.input.length > 0 && <PlainText text={run.input.map(({ text }) => text).join('\n')} label="Message" />}
    </section>
  )
}
