import type { ReactNode } from 'react'
import { Link } from 'wouter'

import { isRunOver } from '../../client/transcript.ts'
import { cost, count, duration } from '../data/format.ts'
import { useTurns } from '../data/turns.ts'
import { useAction } from '../data/use-action.ts'
import { Button } from './button.tsx'

/** The cost of a turn, and a button to answer it again. */
export function TurnEnd({ runId }: { readonly runId: string | null }): ReactNode {
  const turns = useTurns()
  const again = useAction(async () => turns!.regenerate(runId!))
  const turn = turns?.turnOf(runId)
  if (!turns || !turn || !isRunOver(turn.status)) return null
  const { usage, startedAt, finishedAt } = turn
  return (
    <p className="turn-end">
      <Link href={`/runs/${turn.id}`} className="turn-cost" title="Open the run">
        {startedAt && finishedAt && <>{duration(Date.parse(finishedAt) - Date.parse(startedAt))} · </>}
        {count(usage.totalTokens)} tokens
        {usage.costUsd !== null && usage.costUsd > 0 && <> · {cost(usage.costUsd)}</>}
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
      {again.problem && <span className="field-problem">{again.problem}</span>}
    </p>
  )
}
