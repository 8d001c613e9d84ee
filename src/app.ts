import { hostname } from 'node:os'

import { hashSecret } from './auth/api-key-secret.ts'
import { createAuthenticate } from './auth/authenticate.ts'
import { requireBreadth, requireScope } from './auth/require-scope.ts'
import { createDecisionLinks } from './auth/decision-links.ts'
import { createOwnTokens } from './auth/own-tokens.ts'
import { trustsTokens } from './auth/verify-token.ts'
import { createViewerOfToken } from './auth/viewer-of-token.ts'
import { openFile } from './auth/open-file.ts'
import { decideByLink, openDecisionLink } from './commands/approvals/decision-links.ts'
import type { CommandContext } from './commands/command-context.ts'
import { storeCodeTools } from './commands/tools/store-code-tools.ts'
import { refreshMcpServers, storeMcpServers } from './commands/tools/mcp-server.ts'
import {
  isLoopback,
  modelEndpoints,
  requestLimits,
  retentionRules,
  runLimits,
  tokenTrust,
  type Config,
} from './config/config.ts'
import { builtinTools } from './domain/tools/builtin-tools.ts'
import { createTokenCounter } from './util/tokens.ts'
import { ownerOf, type Viewer } from './domain/access/viewer.ts'
import { CheckpointWriter } from './engine/checkpoint-writer.ts'
import { ContextCache } from './engine/context-cache.ts'
import type { EngineContext } from './engine/engine-context.ts'
import { FileCache } from './engine/file-cache.ts'
import type { Context } from './graphql/context.ts'
import { createLoaders } from './graphql/loaders.ts'
import { schema } from './graphql/schema.ts'
import { createSubgraph } from './graphql/subgraph.ts'
import type { Bus } from './live/bus.ts'
import { Hub } from './live/hub.ts'
import { RunPoll } from './live/poll-runs.ts'
import { createPostgresBus } from './live/postgres-bus.ts'
import { createRedisBus } from './live/redis-bus.ts'
import { Relay } from './live/relay.ts'
import { WorkSignal } from './live/work-signal.ts'
import { createCatalog } from './providers/catalog.ts'
import { createProvider } from './providers/create-provider.ts'
import { demoProvider } from './providers/demo/demo.ts'
import type { Provider } from './providers/provider.ts'
import { protectSecrets } from './store/access/stored-secrets.ts'
import type { Fetch, Handlers } from './server/handlers.ts'
import { createHealthServer } from './server/health/health-server.ts'
import { createHttpServer, type HttpServer } from './server/http.ts'
import { loopbackOnly } from './server/access/loopback-only.ts'
import { createTrustedDocuments } from './server/limits/trusted-documents.ts'
import { hasApiKeys } from './store/access/api-keys.ts'
import { startDatabaseClock } from './store/database/database-clock.ts'
import { isWritable, type OpenDatabase } from './store/database/open-database.ts'
import { ensureDefaultTenant } from './store/access/tenants.ts'
import { notifyWorkers, readWorkload } from './store/workers/workers.ts'
import { Metrics } from './telemetry/metrics.ts'
import { startProcessMetrics, addServerMetrics, countDeletedRows, measureBusDelay } from './telemetry/server-metrics.ts'
import { prometheusType, toPrometheus } from './telemetry/prometheus.ts'
import { createTelemetry } from './telemetry/telemetry.ts'
import { loadTools } from './tools/load-tools.ts'
import { createNetworkGuard } from './util/network-guard.ts'
import { createToolRegistry, toBuiltinTool, type ToolDefinition } from './tools/registry.ts'
import { Toolbox } from './tools/toolbox.ts'
import { systemClock, type Clock } from './util/clock.ts'
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
  /** `url` is null if there is no API. An app is started once. */
  start(): Promise<{ readonly url: string | null }>
  /** Starts everything except an HTTP server, and returns handlers for the caller's own. Throws if there is no API. */
  attach(): Promise<Handlers>
  /** The API without a socket, from the start to the stop. Throws before the start, and if there is no API. */
  readonly fetch: Fetch
  /** Drains: runs that cannot finish in time are handed back. May be called twice, and during the start. */
  stop(): Promise<void>
}

/** Connects the rooms: what they share, what drives runs, and what operators and clients reach. */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, log, role } = options
  const shared = await createShared(options)
  const links = await createLinks(shared)
  const models = createModels(shared)
  const toolbox = createToolbox(shared, models)
  const worker = createWorker(shared, links, models, toolbox)
  const commands: CommandContext = {
    ...{ db: shared.db, secrets: shared.secrets, clock: shared.clock, ids: shared.ids, network: shared.network },
    ...{ hub: links.hub, work: links.work, models: models.catalog, tools: toolbox },
    maxFileBytes: config.HOLDPOINT_MAX_FILE,
    publicUrl: config.HOLDPOINT_PUBLIC_URL,
    tenantStorageBytes: config.HOLDPOINT_TENANT_STORAGE,
  }
  const life = new Life()
  const health = createHealth(shared, links, worker, life)
  const server = role === 'worker' ? undefined : createServer(shared, commands, health)
  const healthServer = createHealthServer(health)
  const api = server && shared.isOpen ? loopbackOnly(server) : server

  let mcpSync: Promise<void> | undefined
  let stopProcessMetrics: (() => void) | undefined

  async function startWork(): Promise<void> {
    stopProcessMetrics = startProcessMetrics(shared.metrics)
    shared.tracing?.exporter.start()
    links.poll.start()
    await links.relay.start()
    await worker.start()
    const mcpServers = await storeMcpServers(commands, config.HOLDPOINT_MCP, shared.tenantId)
    // Not awaited, because an MCP server that does not answer must not delay the start.
    if (!life.isStopping) mcpSync = refreshMcpServers(commands, mcpServers, log)
  }

  async function startServers(): Promise<{ readonly url: string | null }> {
    await startWork()
    if (config.HOLDPOINT_HEALTH_PORT !== undefined) {
      const { port } = await healthServer.listen(config.HOST, config.HOLDPOINT_HEALTH_PORT)
      log.info({ url: `${urlOf(config.HOST, port)}/healthz` }, 'the health port is open')
    }
    if (!server) return { url: null }
    const { port } = await server.listen(config.HOST, config.PORT)
    warn(shared)
    return { url: `${urlOf(config.HOST, port)}/graphql` }
  }

  async function stopAll(started: Promise<unknown> | undefined): Promise<void> {
    // The worker stops first: clients can follow its runs until they are drained.
    await worker.stop()
    await started
    links.hub.endWaits()
    await server?.close()
    await healthServer.close()
    await toolbox.close()
    await mcpSync
    await links.relay.stop()
    await links.poll.stop()
    shared.databaseClock?.stop()
    stopProcessMetrics?.()
    await shared.tracing?.exporter.stop()
  }

  return {
    start: async () => life.start(startServers),
    async attach() {
      if (!api) throw new StartError(noApi)
      await life.start(startWork)
      warn(shared)
      return { handler: api.handle, upgrade: api.upgrade }
    },
    async fetch(input, init) {
      if (!api) throw new StartError(noApi)
      if (!life.isStarted) throw new StartError('The app was not started: call start() or attach() before fetch().')
      return api.fetch(input, init)
    },
    stop: () => life.stop(stopAll),
  }
}

type Shared = Awaited<ReturnType<typeof createShared>>
type Links = Awaited<ReturnType<typeof createLinks>>
type Models = ReturnType<typeof createModels>

/** What all rooms use. Prepares the database for the tools and secrets of this process. */
async function createShared(options: AppOptions) {
  const { config, database, log, role } = options
  const { db } = database
  const tools = await loadTools(options.tools ?? [], config.HOLDPOINT_TOOLS)
  const trust = tokenTrust(config)
  const isOpen = config.HOLDPOINT_API_KEY === undefined && !trustsTokens(trust) && !(await hasApiKeys(db))
  if (role === 'serve' && isOpen && !isLoopback(config.HOST)) throw openToOthers(config.HOST)

  const databaseClock = options.clock ? undefined : await startDatabaseClock(db)
  const clock = options.clock ?? databaseClock ?? systemClock
  const ids = options.ids ?? createIdSource(clock)
  const tenantId = await ensureDefaultTenant(db, { clock, ids })
  const secrets = createSecretBox(config.HOLDPOINT_SECRET_KEY)
  await protectSecrets(db, secrets, log)
  const toolsInCode = [...builtinTools, ...tools.map(toBuiltinTool)]
  await storeCodeTools({ db, clock, ids }, toolsInCode, { drivesRuns: config.HOLDPOINT_WORKERS > 0, log })
  const metrics = new Metrics()
  return {
    ...{ ...options, db, tools, trust, isOpen, databaseClock, clock, ids, tenantId, secrets, toolsInCode, metrics },
    network: createNetworkGuard({ allowPrivate: config.HOLDPOINT_ALLOW_PRIVATE_NETWORK }),
    tracing: await createTracing(config, metrics, log),
  }
}

/** Where writers, readers and workers meet, in this process and in others. */
async function createLinks(shared: Shared) {
  const { db, log, metrics, tracing } = shared
  const hub = new Hub(createTelemetry(log, metrics, tracing?.observeRun))
  const bus = await createBus(shared)
  return {
    ...{ hub, bus },
    poll: new RunPoll(db, hub, log),
    relay: new Relay({ bus, hub, log, onDelay: measureBusDelay(metrics) }),
    work: new WorkSignal(() => notifyWorkers(db)),
  }
}

/** Carries texts between processes: by Redis if one is configured. */
async function createBus({ config, database, tenantId, ids, log }: Shared): Promise<Bus> {
  const address = ids.next()
  if (config.REDIS_URL === undefined) return createPostgresBus({ database, address, log })
  // Every database has a default tenant of its own.
  return createRedisBus({ redisUrl: config.REDIS_URL, scope: tenantId, address, log })
}

function createModels({ config, providers: given = [] }: Shared) {
  const providers = [demoProvider, ...modelEndpoints(config).map(createProvider), ...given]
  return { providers, catalog: createCatalog(providers) }
}

function createToolbox({ config, db, secrets, log, network, tools, tracing }: Shared, { catalog }: Models): Toolbox {
  return new Toolbox({
    ...{ db, secrets, log, network },
    registry: createToolRegistry(tools),
    traces: tracing !== undefined,
    embedQuery: catalog.embedQuery,
    maxFileBytes: config.HOLDPOINT_MAX_FILE,
    tenantStorageBytes: config.HOLDPOINT_TENANT_STORAGE,
    mcpServers: config.HOLDPOINT_MCP,
  })
}

function createWorker(shared: Shared, { hub, work }: Links, models: Models, toolbox: Toolbox): RunWorker {
  const { config, db, database, clock, ids, secrets, network, metrics, log } = shared
  const engine: EngineContext = {
    ...{ db, clock, ids, hub, work, log },
    catalog: models.catalog,
    tools: toolbox,
    checkpoints: new CheckpointWriter(db),
    contexts: new ContextCache(),
    files: new FileCache(),
    countTokens: createTokenCounter(),
    toolGraceMs: config.HOLDPOINT_TOOL_GRACE_MS,
    modelIdleMs: config.HOLDPOINT_MODEL_IDLE_MS,
    keepsRequests: config.HOLDPOINT_KEEP_REQUESTS > 0,
  }
  return new RunWorker({
    ...{ engine, database, log },
    about: {
      ...{ hostname: hostname(), version, capacity: config.HOLDPOINT_WORKERS },
      providers: models.providers.filter(({ missing }) => missing === undefined).map(({ name }) => name),
      tools: shared.toolsInCode.map(({ name }) => name),
    },
    limits: runLimits(config),
    drainMs: config.HOLDPOINT_DRAIN_MS,
    keepRequestsMs: config.HOLDPOINT_KEEP_REQUESTS,
    keepDeliveriesMs: config.HOLDPOINT_KEEP_DELIVERIES,
    webhooks: { network, secrets, publicUrl: config.HOLDPOINT_PUBLIC_URL },
    retention: retentionRules(config),
    onDeleted: countDeletedRows(metrics),
    suspectAfterMs: shared.suspectAfterMs ?? 10_000,
  })
}

/** What operators ask of the process. */
function createHealth({ db, database, metrics, log }: Shared, { hub, bus }: Links, worker: RunWorker, life: Life) {
  const { pool } = database
  addServerMetrics(metrics, {
    workload: () => readWorkload(db),
    pool: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    subscribers: () => hub.subscriberCount(),
    busConnected: () => bus.isConnected(),
    log,
  })
  return {
    // A process that drains accepts no more work, so a load balancer should use another one.
    ready: async () => !life.isStopping && (await isWritable(pool)) && worker.isServed(),
    metrics: createMetricsPage(metrics),
    log,
  }
}

/** The API, with everything that is behind its addresses. */
function createServer(shared: Shared, commands: CommandContext, health: ReturnType<typeof createHealth>): HttpServer {
  const { config, database, db, clock, secrets, tenantId, trust, isOpen, tracing } = shared
  const apiKey = config.HOLDPOINT_API_KEY
  const configuredHash = apiKey === undefined ? undefined : hashSecret(apiKey)
  const ownTokens = createOwnTokens(db, { clock, secrets, configuredHash })
  const linking = { ...commands, decisionLinks: createDecisionLinks(db, { secrets, configuredHash }) }
  const viewerOfToken = createViewerOfToken(db, { clock, tenantId, ownTokens, trust })
  return createHttpServer<Viewer>({
    ...{ schema, ...health, ...servedPages(config) },
    authenticate: createAuthenticate(db, { tenantId, apiKey, isOpen, viewerOfToken }),
    createContext: (viewer): Context => ({ ...linking, viewer, ownTokens, loaders: createLoaders(db, viewer) }),
    decisions: {
      open: (token) => openDecisionLink(linking, token),
      decide: (token, decision) => decideByLink(linking, token, decision),
    },
    openFile: (viewer, id) => openFile(db, viewer, id),
    limits: requestLimits(config),
    clientOf: (viewer) => ({ id: ownerOf(viewer), tenantId: viewer.tenantId }),
    isOverloaded: () => database.pool.waitingCount > overloadedAt,
    observeOperation: tracing?.observeOperation,
  })
}

function warn({ isOpen, trust, log }: Shared): void {
  if (isOpen) log.warn(openWarning)
  if (trust.secret !== undefined && Buffer.byteLength(trust.secret) < 32) log.warn(shortSecretWarning)
}

/** An app is started once, because nobody would close what a second start, or one after the stop, would open. */
class Life {
  #starting: Promise<unknown> | undefined
  #stopping: Promise<void> | undefined

  get isStarted(): boolean {
    return this.#starting !== undefined
  }

  get isStopping(): boolean {
    return this.#stopping !== undefined
  }

  start<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.isStarted || this.isStopping)
      throw new StartError('The app was started or stopped before. Create another one.')
    const started = work()
    this.#starting = started.catch(() => undefined)
    return started
  }

  /** `work` gets the end of a start that is still going on. */
  stop(work: (started: Promise<unknown> | undefined) => Promise<void>): Promise<void> {
    return (this.#stopping ??= work(this.#starting))
  }
}

/** Requests that wait for a database connection. Beyond this number, new ones are refused at once. */
const overloadedAt = 1_000

function openToOthers(host: string): StartError {
  return new StartError(
    `HOST is "${host}", which others can reach, and there is no API key: set HOLDPOINT_API_KEY, run \`keys create\`, or leave HOST at 127.0.0.1.`,
  )
}

/** Loaded only if it is configured. */
async function createTracing(config: Config, metrics: Metrics, log: Log) {
  const endpoint = config.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined) return undefined
  const { startTracing } = await import('./telemetry/tracing.ts')
  const serviceName = config.OTEL_SERVICE_NAME
  return startTracing({
    ...{ endpoint, metrics, log },
    headers: config.OTEL_EXPORTER_OTLP_HEADERS,
    contents: config.HOLDPOINT_TRACE_CONTENTS,
    resource: { 'service.name': serviceName, 'service.version': version, 'host.name': hostname() },
  })
}

function createMetricsPage(metrics: Metrics) {
  return {
    contentType: prometheusType,
    text: async () => toPrometheus(await metrics.collect()),
    // They concern all tenants, like `workers`.
    check(viewer: Viewer) {
      requireScope(viewer, ['MANAGE'], 'Reading /metrics')
      requireBreadth(viewer, 'tenant', 'Reading /metrics')
    },
  }
}

function servedPages(config: Config) {
  const { HOLDPOINT_CONSOLE: console, HOLDPOINT_TRUSTED_DOCUMENTS: trusted } = config
  return {
    console,
    subgraph: config.HOLDPOINT_SUBGRAPH ? createSubgraph(schema, { shown: config.HOLDPOINT_INTROSPECTION }) : undefined,
    // People write their own documents in GraphiQL.
    graphiql: config.HOLDPOINT_GRAPHIQL && trusted === undefined,
    trustedDocuments: trusted && createTrustedDocuments(schema, trusted, { console }),
    allowedOrigins: config.HOLDPOINT_ALLOWED_ORIGINS,
  }
}

const noApi = 'A worker has no API: call start(), or create the app with the role `serve`.'

const openWarning =
  'there is no API key: every program on this machine can do everything. Set HOLDPOINT_API_KEY, or run `keys create` and restart'

const shortSecretWarning =
  'HOLDPOINT_JWT_SECRET has fewer than 32 bytes: whoever has a token can guess it and sign others. Use the output of `openssl rand -base64 32`'

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
