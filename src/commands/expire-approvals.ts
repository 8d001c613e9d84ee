import { denyExpired } from '../domain/decisions.ts'
import { Draft } from '../domain/draft.ts'
import { loadRun } from '../store/load-run.ts'
import { lockRun } from '../store/lock-run.ts'
import { listRunsWithExpiredCalls } from '../store/tool-calls.ts'
import type { RunContext } from './command-context.ts'
import { storeDecisions } from './submit-approvals.ts'

/**
 * Denies what nobody decided in time, as a person would: under the same locks, by the same functions. Any process may
 * do it at any time after; of a decision at the same moment, one comes first and the other finds it taken.
 */
export async function expireApprovals(context: RunContext): Promise<void> {
  for (const runId of await listRunsWithExpiredCalls(context.db, context.clock.now())) {
    const stored = await context.db.transaction().execute(async (trx) => {
      await lockRun(trx, runId)
      const loaded = await loadRun(trx, runId)
      if (!loaded) return undefined
      const draft = new Draft(loaded.state, context)
      return denyExpired(draft) ? storeDecisions(trx, draft) : undefined
    })
    if (stored) context.hub.checkpointStored(stored)
  }
}
