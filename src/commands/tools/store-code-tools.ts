import type { BuiltinTool } from '../../domain/tools/builtin-tools.ts'
import { listTenantIds } from '../../store/access/tenants.ts'
import { upsertBuiltinTools } from '../../store/tools/code-tools.ts'
import { listToolsOfWorkers } from '../../store/workers/workers.ts'
import type { Log } from '../../util/log.ts'
import type { CommandContext } from '../command-context.ts'

/** Stores the tools in code for every tenant. Every process does this when it starts. */
export async function storeCodeTools(
  { db, clock, ids }: Pick<CommandContext, 'db' | 'clock' | 'ids'>,
  tools: readonly BuiltinTool[],
  { drivesRuns, log }: { readonly drivesRuns: boolean; readonly log: Log },
): Promise<void> {
  // A process that drives no runs may have been started without the tools.
  const marksMissing = drivesRuns ? { except: await listToolsOfWorkers(db) } : undefined
  for (const tenant of await listTenantIds(db)) {
    const kept = await upsertBuiltinTools(db, tenant, tools, { clock, ids, marksMissing })
    for (const { name, settings } of kept)
      log.info({ tool: name, settings }, "a client has changed these settings of the tool, so the code's are not used")
  }
}
