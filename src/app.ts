import { hostname } from 'node:os'

import { hashSecret } from './auth/api-key-secret.ts'
import { createAuthenticate } from './auth/authenticate.ts'
import { requireBreadth } from './auth/require-breadth.ts'
import { requireScope } from './auth/require-scope.ts'
import { createOwnTokens } from './auth/own-tokens.ts'
import { trustsTokens } from './auth/verify-token.ts'
import { createViewerOfToken } from './auth/viewer-of-token.ts'
import { openFile } from './auth/open-file.ts'
import type { CommandContext } from './commands/command-context.ts'
import { listMcpServers, storeMcpServers } from './commands/sync-mcp-servers.ts'
import { isLoopback, type Config } from './config.ts'
import { builtinTools, type BuiltinTool } from './domain/builtin-tools.ts'
import { createTokenCounter } from './domain/tokens.ts'
import type { Viewer } from './domain/access/viewer.ts'
import { ContextCache } from './engine/context-cache.ts'
import type { EngineContext } from './engine/engine-context.ts'
import { FileCache } from './engine/file-cache.ts'
import type { Context } from './graphql/context.ts'
import { createLoaders } from './graphql/loaders.ts'
import { schema } from './graphql/schema.ts'
import { createHub } from './live/hub.ts'
import { RunPoll } from './live/poll-runs.ts'
import { createPostgresBus } from './live/postgres-bus.ts'
import { createRedisBus } from './live/redis-bus.ts'
import { Relay } from './live/relay.ts'
import { ProcessWorkSignal } from './live/work-signal.ts'
import { createCatalog } from './providers/catalog.ts'
import { createProvider } from './providers/create-provider.ts'
import { demoProvider } from './providers/demo/demo.ts'
import type { Provider } from './providers/provider.ts'
import { protectSecrets } from './protect-secrets.ts'
import type { Handlers } from './server/handlers.ts'
import { createHealthServer } from './server/health/health-server.ts'
import { createHttpServer } from './server/http.ts'
import { loopbackOnly } from './server/loopback-only.ts'
import { createTrustedDocuments } from './server/limits/trusted-documents.ts'
import { hasApiKeys } from './store/api-keys.ts'
import { startDatabaseClock } from './store/database/database-clock.ts'
import { isWritable, type OpenDatabase } from './store/database/open-database.ts'
import { upsertBuiltinTools } from './store/tools/code-tools.ts'
import { ensureDefaultTenant, listTenantIds } from './store/access/tenants.ts'
import { listToolsOfWorkers } from './store/workers/workers.ts'
import { readWorkload } from './store/workload.ts'
import { Metrics } from './telemetry/metrics.ts'
import { startProcessMetrics } from './telemetry/process-metrics.ts'
import { prometheusType, toPrometheus } from './telemetry/prometheus.ts'
import { addServerMetrics } from './telemetry/server-metrics.ts'
import { createTelemetry } from './telemetry/telemetry.ts'
import { checkTools, loadTools } from './tools/load-tools.ts'
import { createNetworkGuard } from './util/network-guard.ts'
import { createToolRegistry, type ToolDefinition } from './tools/registry.ts'
import { Toolbox } from './tools/toolbox.ts'
import type { Clock } from './util/clock.ts'
import { createIdSource, type IdSource } from './util/ids.ts'
import type { Log } from './util/log.ts'
import { createSecretBox } from './util/secret-box.ts'
import { StartError } from './util/start-error.ts'
import { version } from './util/version.ts'
import { RunWorker } from './worker/run-worker.ts'

export interface AppOptions {
  readonly config: Config
  /** Open and migrated. Its opener closes it. */
  readonly database: OpenDatabase
  readonly log: Log
  /** The role `worker` has no API. */
  readonly role: 'serve' | 'worker'
  /** Tools of the program that embeds the server. */
  readonly tools?: readonly ToolDefinition[]
  /** Additional model providers. */
  readonly providers?: readonly Provider[]
  /** Defaults to the database's time. */
  readonly clock?: Clock
  readonly ids?: IdSource
  /** See `WorkerOptions`. Defaults to 10 seconds. */
  readonly suspectAfterMs?: number
}

export interface App {
  /** `url` is null if there is no API. */
  start(): Promise<{ readonly url: string | null }>
  /** Starts everything except an HTTP server, and returns handlers for the caller's own. Throws if there is no API. */
  attach(): Promise<Handlers>
  /** Drains: runs that cannot finish in time are handed back. May be called twice. */
  stop(): Promise<void>
}

/** Connects the rooms. The parts stop in the reverse order of their start. */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, database, log, role } = options
  const { db } = database
  const tools = [...(options.tools ?? []), ...(config.toolsPath ? await loadTools(config.toolsPath) : [])]
  checkTools(tools)
  const { apiKey, tokenTrust } = config
  const isOpen = apiKey === undefined && !trustsTokens(tokenTrust) && !(await hasApiKeys(db))
  if (role === 'serve' && isOpen && !isLoopback(config.host)) {
    throw new StartError(
      `HOST is "${config.host}", which others can reach, and there is no API key: set HOLDPOINT_API_KEY, run \`keys create\`, or leave HOST at 127.0.0.1.`,
    )
  }
  const databaseClock = options.clock ? undefined : await startDatabaseClock(db)
  const clock = options.clock ?? databaseClock!
  const ids = options.ids ?? createIdSource(clock)
  const tenantId = await ensureDefaultTenant(db, { clock, ids })
  const secrets = createSecretBox(config.secretKeys)
  await protectSecrets(db, secrets, log)
  const toolsInCode = [...builtinTools, ...tools.map(toBuiltinTool)]
  // A process that drives no runs may have been started without the tools.
  const marksMissing = config.workers > 0 ? { except: await listToolsOfWorkers(db) } : undefined
  for (const tenant of await listTenantIds(db)) {
    const kept = await upsertBuiltinTools(db, tenant, toolsInCode, { clock, ids, marksMissing })
    for (const { name, settings } of kept)
      log.info({ tool: name, settings }, "a client has changed these settings of the tool, so the code's are not used")
  }

  const metrics = new Metrics()
  const tracing = config.otlp && (await createTracing(config.otlp, metrics, log))
  const hub = createHub(createTelemetry(log, metrics, tracing?.observeRun))
  const work = new ProcessWorkSignal(db)
  const providers = [demoProvider, ...config.endpoints.map(createProvider), ...(options.providers ?? [])]
  const catalog = createCatalog(providers)
  const network = createNetworkGuard({ allowPrivate: config.allowPrivateNetwork })
  const { maxFileBytes } = config
  const registry = createToolRegistry(tools)
  const toolbox = new Toolbox({
    ...{ db, secrets, registry, network, log, maxFileBytes },
    traces: tracing !== undefined,
    mcpServers: config.mcpServers,
  })
  const commands: CommandContext = {
    ...{ db, secrets, clock, ids, hub, work },
    models: catalog,
    tools: toolbox,
    maxFileBytes,
    tenantStorageBytes: config.tenantStorageBytes,
  }
  const engine = {
    db,
    clock,
    ids,
    hub,
    work,
    contexts: new ContextCache(),
    files: new FileCache(),
    catalog,
    log,
    countTokens: createTokenCounter(),
    tools: toolbox,
    toolGraceMs: config.toolGraceMs,
    modelIdleMs: config.modelIdleMs,
    keepsRequests: config.keepRequestsMs > 0,
  } satisfies EngineContext
  const ownTokens = createOwnTokens(db, {
    clock,
    secrets,
    configuredHash: apiKey === undefined ? undefined : hashSecret(apiKey),
  })
  const poll = new RunPoll(db, hub, log)
  const address = ids.next()
  const bus =
    config.redisUrl === undefined
      ? createPostgresBus({ databaseUrl: database.url, address, log })
      : // Every database has a default tenant of its own.
        await createRedisBus({ redisUrl: config.redisUrl, scope: tenantId, address, log })
  const onDelay = metrics.histogram({
    name: 'holdpoint.bus.delay',
    unit: 's',
    help: 'Time that a message to all processes takes to come back to its sender.',
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  })
  const relay = new Relay({ bus, hub, log, onDelay })
  const { pool } = database
  addServerMetrics(metrics, {
    workload: () => readWorkload(db),
    pool: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    subscribers: () => hub.subscriberCount(),
    busConnected: () => bus.isConnected(),
    log,
  })
  const metricsPage = {
    contentType: prometheusType,
    text: async () => toPrometheus(await metrics.collect()),
    // They concern all tenants, like `workers`.
    check(viewer: Viewer) {
      requireScope(viewer, ['MANAGE'], 'Reading /metrics')
      requireBreadth(viewer, 'tenant', 'Reading /metrics')
    },
  }
  const countDeleted = metrics.counter({
    name: 'holdpoint.retention.deleted',
    unit: '{row}',
    help: 'Rows that were deleted because they were old: logs, runs, archived conversations, audit entries.',
  })
  const worker = new RunWorker({
    engine,
    database,
    about: {
      hostname: hostname(),
      version,
      capacity: config.workers,
      providers: providers.filter(({ missing }) => missing === undefined).map(({ name }) => name),
      tools: toolsInCode.map(({ name }) => name),
    },
    limits: { perTenant: config.tenantRuns, perAgent: config.agentRuns, perKey: config.keyRuns },
    drainMs: config.drainMs,
    keepRequestsMs: config.keepRequestsMs,
    retention: config.retention,
    onDeleted: (rows, kind) => countDeleted(rows, { kind }),
    suspectAfterMs: options.suspectAfterMs ?? 10_000,
    log,
  })
  let stopping: Promise<void> | undefined
  let mcpSync: Promise<void> | undefined
  let stopProcessMetrics: (() => void) | undefined
  const ready = async () => {
    // A process that drains accepts no more work, so a load balancer should use another one.
    if (stopping !== undefined || !(await isWritable(database.pool))) return false
    return worker.isServed()
  }
  const server =
    role === 'serve'
      ? createHttpServer<Viewer>({
          schema,
          authenticate: createAuthenticate(db, {
            tenantId,
            apiKey,
            isOpen,
            viewerOfToken: createViewerOfToken(db, { clock, tenantId, ownTokens, trust: tokenTrust }),
          }),
          createContext: (viewer): Context => ({ ...commands, viewer, ownTokens, loaders: createLoaders(db, viewer) }),
          openFile: (viewer, id) => openFile(db, viewer, id),
          log,
          graphiql: config.graphiql,
          trustedDocuments:
            config.trustedDocuments &&
            createTrustedDocuments(schema, config.trustedDocuments, { console: config.console }),
          console: config.console,
          allowedOrigins: config.allowedOrigins,
          limits: {
            requestBytes: config.maxBodyBytes,
            introspection: config.introspection,
            keyRequests: config.keyRequests,
            keySockets: config.keySockets,
            keySubscriptions: config.keySubscriptions,
            tenantRequests: config.tenantRequests,
          },
          clientOf: ({ tenantId, actor }) => ({ id: `${tenantId} ${actor.kind} ${actor.id}`, tenantId }),
          isOverloaded: () => database.pool.waitingCount > overloadedAt,
          ready,
          metrics: metricsPage,
          observeOperation: tracing?.observeOperation,
        })
      : undefined
  const health = config.healthPort === undefined ? undefined : createHealthServer({ ready, metrics: metricsPage, log })

  async function startWork(): Promise<void> {
    stopProcessMetrics = startProcessMetrics(metrics)
    tracing?.exporter.start()
    poll.start()
    await relay.start()
    await worker.start()
    const mcpServers = await storeMcpServers(commands, config.mcpServers, tenantId)
    // Not awaited, because an MCP server that does not answer must not delay the start.
    mcpSync = listMcpServers(commands, mcpServers, log)
  }

  function warn(): void {
    if (isOpen) log.warn(openWarning)
    const { secret } = tokenTrust
    if (secret !== undefined && Buffer.byteLength(secret) < 32) log.warn(shortSecretWarning)
  }

  return {
    async start() {
      await startWork()
      const healthUrl = health && urlOf(config.host, (await health.listen(config.host, config.healthPort!)).port)
      if (healthUrl !== undefined) log.info({ url: `${healthUrl}/healthz` }, 'the health port is open')
      if (!server) return { url: null }
      const { port } = await server.listen(config.host, config.port)
      warn()
      return { url: `${urlOf(config.host, port)}/graphql` }
    },
    async attach() {
      if (!server) throw new StartError('A worker has no API: call start(), or create the app with the role `serve`.')
      await startWork()
      warn()
      const { handle, upgrade } = isOpen ? loopbackOnly(server) : server
      return { handler: handle, upgrade }
    },
    stop() {
      stopping ??= (async () => {
        // The worker stops first: clients can follow its runs until they are drained.
        await worker.stop()
        hub.endWaits()
        await server?.close()
        await health?.close()
        await toolbox.close()
        await mcpSync
        await relay.stop()
        await poll.stop()
        databaseClock?.stop()
        stopProcessMetrics?.()
        await tracing?.exporter.stop()
      })()
      return stopping
    },
  }
}

/** Requests that wait for a database connection. Beyond this number, new ones are refused at once. */
const overloadedAt = 1_000

/** Loaded only if it is configured. */
async function createTracing(otlp: NonNullable<Config['otlp']>, metrics: Metrics, log: Log) {
  const { startTracing } = await import('./telemetry/tracing.ts')
  const resource = { 'service.name': otlp.serviceName, 'service.version': version, 'host.name': hostname() }
  return startTracing({ ...otlp, resource, metrics, log })
}

const openWarning =
  'there is no API key: every program on this machine can do everything. Set HOLDPOINT_API_KEY, or run `keys create` and restart'

const shortSecretWarning =
  'HOLDPOINT_JWT_SECRET has fewer than 32 bytes: whoever has a token can guess it and sign others. Use the output of `openssl rand -base64 32`'

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function toBuiltinTool({ run: _run, ...tool }: ToolDefinition): BuiltinTool {
  return { ...tool, parallel: tool.parallel ?? false, idempotent: tool.idempotent ?? false }
}
