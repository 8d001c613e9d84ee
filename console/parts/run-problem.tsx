import type { ReactNode } from 'react'
import { Link } from 'wouter'

import { words } from '../data/format.ts'
import { Refused, useAction } from '../data/use-action.ts'
import type { Conversation } from '../../react/use-conversation.ts'
import { Button } from './button.tsx'

/** Why the latest run failed or stopped early, and what can be done about it. */
export function RunProblem({ conversation }: { readonly conversation: Conversation }): ReactNode {
  const { latestRun } = conversation
  const retry = useAction(async () => {
    const result = await conversation.retry()
    if (result.__typename !== 'RetryRunSuccess') throw new Refused(result.message)
  })
  if (!latestRun) return null
  const link = <Link href={`/runs/${latestRun.id}`}>Open the run</Link>
  if (
    latestRun.status === 'COMPLETED' &&
    latestRun.stopReason &&
    !['END_TURN', 'TOOL_RULE'].includes(latestRun.stopReason)
  ) {
    return (
      <p className="run-end">
        The run stopped: {words(latestRun.stopReason).toLowerCase()}. {link}
      </p>
    )
  }
  if (latestRun.status !== 'FAILED') return null
  const { error } = latestRun
  return (
    <div role="alert" className="problem run-problem">
      <p>
        <strong>{error?.message ?? 'The run failed.'}</strong>
      </p>
      {error?.detail && <p className="detail">{error.detail}</p>}
      {retry.problem && <p>{retry.problem}</p>}
      <div className="row">
        <Button look="primary" isBusy={retry.isBusy} onClick={() => retry.run()}>
          Retry
        </Button>
        {link}
      </div>
    </div>
  )
}
