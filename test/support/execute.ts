import { graphql } from 'graphql'
import type { KyselyPlugin } from 'kysely'

import { createDecisionLinks } from '../../src/auth/decision-links.ts'
import { createOwnTokens } from '../../src/auth/own-tokens.ts'
import { builtinTools } from '../../src/domain/tools/builtin-tools.ts'
import type { Model, ModelCatalog } from '../../src/domain/models/model.ts'
import type { ToolAccess } from '../../src/domain/tools/tool-access.ts'
import type { Viewer } from '../../src/domain/access/viewer.ts'
import { viewerOf } from './viewer.ts'
import type { Context } from '../../src/graphql/context.ts'
import { toClientError } from '../../src/graphql/errors.ts'
import { createLoaders } from '../../src/graphql/loaders.ts'
import { schema } from '../../src/graphql/schema.ts'
import { Hub } from '../../src/live/hub.ts'
import { WorkSignal } from '../../src/live/work-signal.ts'
import { createCatalog } from '../../src/providers/catalog.ts'
import { demoProvider } from '../../src/providers/demo/demo.ts'
import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { ensureTenant } from '../../src/store/access/tenants.ts'
import { upsertBuiltinTools } from '../../src/store/tools/code-tools.ts'
import { systemClock } from '../../src/util/clock.ts'
import { createIdSource } from '../../src/util/ids.ts'
import { createLog } from '../../src/util/log.ts'
import { createNetworkGuard } from '../../src/util/network-guard.ts'
import { createSecretBox } from '../../src/util/secret-box.ts'
import { createTestDatabase } from './database.ts'

const demo = { provider: 'demo', capabilities: [], isConfigured: true } as const
const models: readonly Model[] = [
  { ...demo, handle: 'demo/scripted', contextWindow: 32_000 },
  { ...demo, handle: 'demo/other', contextWindow: 8_000 },
]
const testModels: ModelCatalog = {
  ...createCatalog([demoProvider]),
  capabilitiesOf: () => [],
  list: () => models,
  listFresh: async () => models,
  missingFor: () => undefined,
  find: (handle) => models.find((model) => model.handle === handle),
  requestBody: (request) => JSON.parse(JSON.stringify(request)),
}

interface ClientError {
  readonly code: unknown
  readonly field: unknown
  readonly message: string
  readonly path: readonly unknown[] | undefined
}

export interface Execution {
  /** Whatever the document asks for. */
  readonly data: any
  readonly errors: readonly ClientError[]
  /** How many SQL statements it took, without those that begin and end transactions. */
  readonly statements: number
}

/** The schema on a separate database, without a transport. Errors are as a client would see them. */
export interface Ground extends OpenDatabase {
  readonly viewer: Viewer
  /** The same for another tenant. */
  readonly stranger: Viewer
  readonly context: Omit<Context, 'viewer' | 'loaders'>
  execute(document: string, variables?: Record<string, unknown>, viewer?: Viewer): Promise<Execution>
  /** Returns the data. Throws if there is an error. */
  run(document: string, variables?: Record<string, unknown>, viewer?: Viewer): Promise<any>
  /** Runs a mutation that must fail, and returns its only error. */
  refusal(document: string, input: Record<string, unknown>, viewer?: Viewer): Promise<Execution['errors'][number]>
}

export async function createGround(open = createTestDatabase): Promise<Ground> {
  const database = await open()
  const clock = systemClock
  const ids = createIdSource(clock)
  const tools: ToolAccess = {
    faultOfJavaScript: async () => undefined,
    faultOfAddress: async () => undefined,
    listMcpTools: () => Promise.reject(new Error('there is no MCP server here')),
  }
  const context: Ground['context'] = {
    db: database.db,
    secrets: createSecretBox([]),
    clock,
    ids,
    models: testModels,
    hub: new Hub(),
    work: new WorkSignal(() => Promise.resolve()),
    tools,
    network: createNetworkGuard({ allowPrivate: true }),
    ownTokens: createOwnTokens(database.db, { clock, secrets: createSecretBox([]) }),
    decisionLinks: createDecisionLinks(database.db, { secrets: createSecretBox([]) }),
    publicUrl: 'https://hold.example',
    maxFileBytes: 10 * 1024 ** 2,
    rateLimit: () => ({ cost: 1, costLimit: 1, requestsPerSecond: null, remaining: null }),
  }

  const makeViewer = async (name: string): Promise<Viewer> => {
    const tenantId = await ensureTenant(database.db, name, { clock, ids })
    await upsertBuiltinTools(database.db, tenantId, builtinTools, { clock, ids })
    return viewerOf(tenantId, { id: name, name })
  }
  const viewer = await makeViewer('default')
  const stranger = await makeViewer('other')

  const execute: Ground['execute'] = async (document, variables = {}, asking = viewer) => {
    let statements = 0
    const counting: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      // A statement whose text is known is not made again, but each has a result.
      async transformResult({ result }) {
        statements += 1
        return result
      },
    }
    const db = database.db.withPlugin(counting)
    const result = await graphql({
      schema,
      source: document,
      variableValues: variables,
      contextValue: { ...context, db, viewer: asking, loaders: createLoaders(db, asking) },
    })
    const errors = (result.errors ?? []).map((error) => {
      const { message, extensions } = toClientError(error, createLog('error'))
      return { code: extensions.code, field: extensions.field, message, path: error.path }
    })
    return { data: result.data, errors, statements }
  }
  return {
    ...database,
    viewer,
    stranger,
    context,
    execute,
    async run(document, variables, asking) {
      const { data, errors } = await execute(document, variables, asking)
      if (errors.length > 0) throw new Error(`unexpected errors: ${JSON.stringify(errors)}`)
      return data
    },
    async refusal(document, input, asking) {
      const { data, errors } = await execute(document, { input }, asking)
      if (errors.length !== 1 || Object.values(data ?? {}).some((value) => value !== null))
        throw new Error(`expected one error, got ${JSON.stringify({ data, errors })}`)
      return errors[0]!
    },
  }
}
