import type { Kysely } from 'kysely'

import type { CommandContext } from '../../src/commands/command-context.ts'
import { createAgent } from '../../src/commands/agents/create-agent.ts'
import { CheckpointWriter } from '../../src/engine/checkpoint-writer.ts'
import { ContextCache } from '../../src/engine/context-cache.ts'
import { FileCache } from '../../src/engine/file-cache.ts'
import type { EngineContext } from '../../src/engine/engine-context.ts'
import type { Viewer } from '../../src/domain/access/viewer.ts'
import { viewerOf } from './viewer.ts'
import { Hub } from '../../src/live/hub.ts'
import { WorkSignal } from '../../src/live/work-signal.ts'
import { countTokens } from '../../src/util/tokens.ts'
import { createCatalog } from '../../src/providers/catalog.ts'
import type { Provider } from '../../src/providers/provider.ts'
import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import type { Database } from '../../src/store/database/schema.ts'
import { ensureDefaultTenant } from '../../src/store/access/tenants.ts'
import { upsertBuiltinTools } from '../../src/store/tools/code-tools.ts'
import { listBuiltinTools } from '../../src/store/tools/tools.ts'
import { createNetworkGuard } from '../../src/util/network-guard.ts'
import { createToolRegistry, type ToolDefinition } from '../../src/tools/registry.ts'
import { Toolbox } from '../../src/tools/toolbox.ts'
import { systemClock } from '../../src/util/clock.ts'
import { createIdSource } from '../../src/util/ids.ts'
import { createLog } from '../../src/util/log.ts'
import { createSecretBox } from '../../src/util/secret-box.ts'
import { createTestDatabase } from './database.ts'

const maxFileBytes = 10 * 1024 ** 2

/** Commands and engine on a separate database, without servers, queues or timers: nothing happens by itself. */
export interface EngineGround {
  readonly database: OpenDatabase
  readonly viewer: Viewer
  /** The context of one process, with its own hub. */
  process(db?: Kysely<Database>, tools?: readonly ToolDefinition[]): EngineContext & CommandContext
  /** An agent with all tools, and its main conversation. */
  createAgent(): Promise<{ readonly agentId: string; readonly conversationId: string }>
  close(): Promise<void>
}

export async function createEngineGround(options: {
  readonly providers: readonly Provider[]
  readonly model: string
  readonly tools: readonly ToolDefinition[]
}): Promise<EngineGround> {
  const database = await createTestDatabase()
  const clock = systemClock
  const ids = createIdSource(clock)
  const tenantId = await ensureDefaultTenant(database.db, { clock, ids })
  const stored = options.tools.map(({ name, description = '', parameters, parallel, idempotent }) => {
    return { name, description, parameters, parallel: parallel ?? false, idempotent: idempotent ?? false }
  })
  await upsertBuiltinTools(database.db, tenantId, stored, { clock, ids })
  const catalog = createCatalog(options.providers)
  const secrets = createSecretBox([])
  const network = createNetworkGuard({ allowPrivate: true })
  const viewer = viewerOf(tenantId)
  const names = options.tools.map(({ name }) => name)
  const tools = (await listBuiltinTools(database.db, viewer, names)).map(({ id, name }) => ({
    toolId: id,
    approvalOverride: options.tools.find((tool) => tool.name === name)?.requiresApproval ?? false,
  }))
  const ground: EngineGround = {
    database,
    viewer,
    process: (db = database.db, definitions = options.tools) => ({
      db,
      clock,
      ids,
      hub: new Hub(),
      work: new WorkSignal(() => Promise.resolve()),
      checkpoints: new CheckpointWriter(db),
      contexts: new ContextCache(),
      files: new FileCache(),
      maxFileBytes,
      catalog,
      countTokens,
      models: catalog,
      log: createLog('fatal'),
      secrets,
      network,
      tools: new Toolbox({
        db,
        secrets,
        registry: createToolRegistry(definitions),
        network,
        log: createLog('fatal'),
        maxFileBytes,
        embedQuery: catalog.embedQuery,
      }),
      toolGraceMs: 0,
      modelIdleMs: 60_000,
      keepsRequests: true,
    }),
    async createAgent() {
      const agent = await createAgent(ground.process(), viewer, {
        name: 'a',
        model: options.model,
        includeBaseTools: false,
        tools,
      })
      const { id } = await database.db
        .selectFrom('conversations')
        .where('agent_id', '=', agent.id)
        .select('id')
        .executeTakeFirstOrThrow()
      return { agentId: agent.id, conversationId: id }
    },
    close: () => database.close(),
  }
  return ground
}
