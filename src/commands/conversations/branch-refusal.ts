import { waitsForCalls } from '../../domain/runs/run.ts'
import { findRunProgress } from '../../store/runs/runs.ts'
import type { Trx } from '../../store/database/schema.ts'

export interface HeldRefusal {
  readonly outcome: 'pending approval' | 'busy'
  readonly runId: string
}

/** Why a command that needs the conversation for itself is refused. Undefined if no run holds the conversation. */
export async function refusalWhileHeld(trx: Trx, activeRunId: string | null): Promise<HeldRefusal | undefined> {
  if (activeRunId === null) return undefined
  const progress = await findRunProgress(trx, activeRunId)
  return { outcome: progress && waitsForCalls(progress) ? 'pending approval' : 'busy', runId: activeRunId }
}
