import type { Transaction } from 'kysely'

import { findRunProgress } from '../store/runs/runs.ts'
import type { Database } from '../store/database/schema.ts'

export interface HeldRefusal {
  readonly outcome: 'pending approval' | 'busy'
  readonly runId: string
}

/** Why a command that needs the conversation for itself is refused. Undefined if no run holds the conversation. */
export async function refusalWhileHeld(
  trx: Transaction<Database>,
  activeRunId: string | null,
): Promise<HeldRefusal | undefined> {
  if (activeRunId === null) return undefined
  const progress = await findRunProgress(trx, activeRunId)
  return { outcome: progress?.status === 'AWAITING_APPROVAL' ? 'pending approval' : 'busy', runId: activeRunId }
}
