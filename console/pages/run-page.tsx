import { useEffect, useMemo, useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import { RetryRun, CancelRun } from '../../client/documents.ts'
import { isRunOver } from '../../client/transcript.ts'
import { useClient } from '../../react/client-context.ts'
import { useRun } from '../../react/use-run.ts'
import { RunPage as RunPageQuery, type RunPageData } from '../data/documents.ts'
import { count, words } from '../data/format.ts'
import { Refused, useAction } from '../data/use-action.ts'
import { useQuery } from '../data/use-query.ts'
import { useThrottled } from '../data/use-throttled.ts'
import { Button } from '../parts/button.tsx'
import { Cost } from '../parts/cost.tsx'
import { Fact } from '../parts/fact.tsx'
import { EventLog } from '../parts/event-log.tsx'
import { Page } from '../parts/page.tsx'
import { Problem } from '../parts/problem.tsx'
import { QueuePlace } from '../parts/queue-place.tsx'
import { Replay } from '../parts/replay.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { Status } from '../parts/status.tsx'
import { Clock } from '../parts/time.tsx'
import { TokenCount } from '../parts/token-count.tsx'
import { Timeline } from '../parts/timeline.tsx'
import { NotFoundPage } from './not-found-page.tsx'

export function RunPage({ id }: { readonly id: string }): ReactNode {
  const client = useClient()
  const { events } = useRun(id)
  // The longer the run, the more there is to load again.
  const [pauseMs, setPause] = useState(0)
  const { data, error } = useQuery(RunPageQuery, { id }, useThrottled(events.length, pauseMs))
  const stepCount = data?.run?.steps.length ?? 0
  useEffect(() => setPause(5 * stepCount), [stepCount])
  // A step that was started again is known from the events alone.
  const restarts = events.filter((event) => event.__typename === 'StepRestarted')
  const attempts = useMemo(() => new Map(restarts.map(({ stepId, attempt }) => [stepId, attempt])), [restarts.length])
  const changed = events.filter((event) => event.__typename === 'RunStatusChanged')
  const changes = useMemo(() => changed, [changed.length])
  const retry = useAction(async () => {
    const { retryRun } = await client.request(RetryRun, { input: { runId: id } })
    if (retryRun && 'message' in retryRun) throw new Refused(retryRun.message)
    // The stream of a run ends with the run, so it is opened again after a retry.
    location.reload()
  })
  const cancel = useAction(async () => {
    const { cancelRun } = await client.request(CancelRun, { input: { runId: id } })
    if (cancelRun && 'message' in cancelRun) throw new Refused(cancelRun.message)
  })
  if (data && !data.run) return <NotFoundPage what="run" />
  const run = data?.run
  if (!run) return error ? <Problem>{error.message}</Problem> : <Skeleton lines={8} />
  const { usage } = run
  return (
    <Page
      title={`Run of ${run.agent.name}`}
      lead={
        <>
          <Status value={run.status} />
          {(run.status === 'COMPLETED' || run.stopReason === 'BUDGET_EXCEEDED') && ` · ${words(run.stopReason!)}`} ·
          sent <Clock at={run.createdAt} />
          {isSomebody(run.sentBy) && <> by {run.sentBy.name}</>}
          {isSomebody(run.cancelledBy) && <> · cancelled by {run.cancelledBy.name}</>}
        </>
      }
      actions={
        <>
          {!isRunOver(run.status) && (
            <Button icon="stop" isBusy={cancel.isBusy} onClick={() => cancel.run()}>
              Cancel run
            </Button>
          )}
          {run.canRetry && (
            <Button look="primary" isBusy={retry.isBusy} onClick={() => retry.run()}>
              Retry
            </Button>
          )}
          <Link className="button" href={`/conversations/${run.conversation.id}`}>
            Open the conversation
          </Link>
        </>
      }
    >
      <Problem>{retry.problem ?? cancel.problem}</Problem>
      {run.error && (
        <Problem>
          <p>
            <strong>{run.error.message}</strong>
          </p>
          {run.error.detail && <p className="mono">{run.error.detail}</p>}
          <p>
            {words(run.error.type)}. {run.error.retryable ? 'A retry may succeed.' : 'A retry is not likely to help.'}
          </p>
        </Problem>
      )}
      {run.status === 'QUEUED' && <QueuePlace run={run} />}
      {run.startedAt && (
        <dl className="facts panel">
          <Fact name="Cost" value={<Cost usd={usage.costUsd} />} />
          <Fact
            name="Input tokens"
            value={<TokenCount whole={usage.inputTokens} part={usage.cachedInputTokens} name="cached" />}
          />
          <Fact
            name="Output tokens"
            value={<TokenCount whole={usage.outputTokens} part={usage.reasoningTokens} name="reasoning" />}
          />
          <Fact name="Model requests" value={`${count(usage.steps)} of ${count(run.maxSteps)}`} />
          <Fact name="Taken by a worker" value={run.attempts === 1 ? 'once' : `${count(run.attempts)} times`} />
        </dl>
      )}
      {(run.parent || run.children.length > 0) && (
        <p>
          {run.parent && (
            <>
              Background work for <Link href={`/runs/${run.parent.id}`}>a run of {run.parent.agent.name}</Link>.{' '}
            </>
          )}
          {run.children.map((child) => (
            <span key={child.id}>
              Started <Link href={`/runs/${child.id}`}>a background run of {child.agent.name}</Link>{' '}
              <Status value={child.status} />{' '}
            </span>
          ))}
        </p>
      )}
      <Timeline run={run} changes={changes} attempts={attempts} />
      {run.startedAt && <Replay events={events} />}
      <EventLog events={events} />
    </Page>
  )
}

type Actor = NonNullable<RunPageData['run']>['sentBy']

/** On an open server everybody is the same, so it is not worth saying. */
function isSomebody(actor: Actor): actor is NonNullable<Actor> {
  return actor !== null && actor.kind !== 'OPEN'
}
