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
  const ahead = queue.slice(
    0,
    Math.max(
      0,
      queue.findIndex(({ id }) => id === run.id),
    ),
  )
  const active = latestRun && latestRun.id !== run.id && !isRunOver(latestRun.status) ? latestRun : undefined
  const next = active ?? ahead[0]
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
            <Link href={`/runs/${next.id}`}>{active ? 'the active run' : 'the run before it'}</Link> (
            {words(next.status).toLowerCase()})
            {ahead.length > (active ? 0 : 1) && ` and ${ahead.length - (active ? 0 : 1)} more in the queue`}.
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
