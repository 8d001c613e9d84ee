import { denyExpired } from '../domain/decisions.ts'
import { Draft } from '../domain/draft.ts'
import { loadRun } from '../store/load-run.ts'
import { lockRun } from '../store/lock-run.ts'
import { listRunsWithExpiredCalls } from '../store/tool-calls.ts'
import { transact } from '../store/transact.ts'
import type { RunContext } from './command-context.ts'
import { storeDecisions } from './submit-approvals.ts'

/**
 * Denies what nobody decided in time, as a person would: under the same locks, by the same functions. Any process may
 * do it at any time after; of a decision at the same moment, one comes first and the other finds it taken. Runs whose
 * locks someone holds are left to the next sweep, so that they keep no others waiting.
 */
export async function expireApprovals(context: RunContext): Promise<void> {
  for (const runId of await listRunsWithExpiredCalls(context.db, context.clock.now())) {
    await transact(context, async (trx, afterCommit) => {
      if (!(await lockRun(trx, runId, { skipLocked: true }))) return
      const loaded = await loadRun(trx, runId)
      if (!loaded) return
      const draft = new Draft(loaded.state, context)
      if (denyExpired(draft)) await storeDecisions(context, { trx, afterCommit }, loaded.state, draft)
    })
  }
}
