import { denyExpired } from '../domain/approvals/decisions.ts'
import { Draft } from '../domain/runs/draft.ts'
import { loadRun } from '../store/runs/load-run.ts'
import { lockRun } from '../store/runs/lock-run.ts'
import { listRunsWithExpiredCalls } from '../store/tools/tool-calls.ts'
import { transact } from '../store/transact.ts'
import type { RunContext } from './command-context.ts'
import { storeDecisions } from './submit-approvals.ts'

/**
 * Denies calls that nobody decided in time, with the same locks and functions as a person's decision. Any process may
 * do it at any later time; if someone decides at the same moment, one comes first and the other finds the call decided.
 * Runs that are locked are left to the next sweep, so that they don't delay the others.
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
