import type { ReactNode } from 'react'
import { Link } from 'wouter'

import { isRunOver } from '../../client/transcript.ts'
import { cost, count, duration } from '../data/format.ts'
import { useTurns } from '../data/turns.ts'
import { useAction } from '../data/use-action.ts'
import { useFocusKept } from '../data/use-focus-kept.ts'
import { useGo } from '../data/use-here.ts'
import { Button } from './button.tsx'
import { Status } from './status.tsx'
import { Clock } from './time.tsx'

interface TurnEndProps {
  readonly runId: string | null
  /** Gives a message of the turn. Undefined if none of them is loaded. */
  readonly messageOf: () => string | undefined
  /** How long it waited for people and clients. */
  readonly waitedMs: number
  /** Why the latest turn failed is shown below the conversation. */
  readonly isLatest: boolean
}

/** What a turn took, and ways to go on from it: another answer, or a copy of the conversation up to here. */
export function TurnEnd({ runId, messageOf, waitedMs, isLatest }: TurnEndProps): ReactNode {
  const turns = useTurns()
  const go = useGo()
  const fork = useAction(async () => {
    const message = messageOf()
    if (message !== undefined) go(`/conversations/${await turns!.fork(message)}`)
  })
  const again = useAction(async () => turns!.regenerate(runId!))
  const turn = turns?.turnOf(runId)
  const root = useFocusKept<HTMLParagraphElement>()
  if (!turns || !turn || !isRunOver(turn.status)) return null
  const { usage, startedAt, finishedAt } = turn
  return (
    <p ref={root} className="turn-end">
      {turn.status !== 'COMPLETED' && !(isLatest && turn.status === 'FAILED') && <Status value={turn.status} />}
      {turn.error && !isLatest && <span>{turn.error.message}</span>}
      {finishedAt && <Clock at={finishedAt} />}
      <Link href={`/runs/${turn.id}`} className="turn-cost" title="Open the run">
        {startedAt && finishedAt
          ? duration(Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt) - waitedMs))
          : 'Open the run'}
        {waitedMs > 0 && ` + ${duration(waitedMs)} waiting`}
        <span className="reveal">
          {' '}
          · {count(usage.totalTokens)} tokens
          {!!usage.costUsd && <> · {cost(usage.costUsd)}</>}
        </span>
      </Link>
      {!turns.isActive && (
        <Button
          look="quiet"
          icon="again"
          className="small reveal"
          aria-label="Regenerate"
          title="Answer again"
          isBusy={again.isBusy}
          onClick={() => again.run()}
        />
      )}
      <Button
        look="quiet"
        icon="fork"
        className="small reveal"
        aria-label="Fork conversation"
        title="Continue from here in a new conversation"
        isBusy={fork.isBusy}
        onClick={() => fork.run()}
      />
      {fork.problem && <span className="field-problem">{fork.problem}</span>}
      {again.problem && <span className="field-problem">{again.problem}</span>}
    </p>
  )
}
