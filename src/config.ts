import type { KeyObject } from 'node:crypto'
import { isIP } from 'node:net'

import type { ConfiguredMcpServer } from './domain/tools/mcp-server.ts'
import type { RetentionRules } from './domain/retention.ts'
import { readMcpFile } from './mcp-file.ts'
import { plainEndpoint, readProvidersFile, type EndpointConfig } from './providers-file.ts'
import { readRetentionFile } from './retention-file.ts'
import { readSettings, settings, type GivenSettings, type SettingValues } from './settings.ts'
import type { LogLevel } from './util/log.ts'
import { readTrustedDocuments } from './trusted-documents-file.ts'
import { StartError } from './util/start-error.ts'

/** Everything that the environment decides, read once and never changed. `settings.ts` describes each variable. */
export interface Config {
  readonly host: string
  /** 0 means any free port. */
  readonly port: number
  /** Undefined means an embedded Postgres in `dataDir`. */
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  readonly redisUrl: string | undefined
  readonly preparedStatements: boolean
  readonly workers: number
  /** Undefined if a worker has no health port. */
  readonly healthPort: number | undefined
  /** Null means no limit. */
  readonly tenantRuns: number | null
  readonly agentRuns: number | null
  readonly keyRuns: number | null
  readonly apiKey: string | undefined
  /** The first one encrypts stored secrets, all of them decrypt. If empty, secrets are stored unencrypted. */
  readonly secretKeys: readonly string[]
  /** How tokens of the application's own identity provider are verified. */
  readonly tokenTrust: {
    readonly secret: string | undefined
    readonly publicKey: KeyObject | undefined
    readonly jwksUrl: string | undefined
    readonly issuer: string | undefined
    readonly audience: string | undefined
  }
  readonly allowedOrigins: readonly string[]
  /** Per process. 0 means no limit. */
  readonly keyRequests: number
  readonly keySockets: number
  readonly keySubscriptions: number
  /** Per process. 0 means no limit. */
  readonly tenantRequests: number
  readonly maxBodyBytes: number
  readonly maxFileBytes: number
  /** Undefined: no limit. */
  readonly tenantStorageBytes: number | undefined
  /** The built-in model providers and those of the providers file. */
  readonly endpoints: readonly EndpointConfig[]
  readonly mcpServers: readonly ConfiguredMcpServer[]
  readonly allowPrivateNetwork: boolean
  /** Whether GraphiQL is served. */
  readonly graphiql: boolean
  /** Whether clients may ask for the schema. */
  readonly introspection: boolean
  /** The text of each document that clients may use, by its id. Undefined if they may use any. */
  readonly trustedDocuments: ReadonlyMap<string, string> | undefined
  /** Whether the web console is served. */
  readonly console: boolean
  readonly toolsPath: string | undefined
  readonly logLevel: LogLevel
  /** Where traces and metrics are sent. Undefined means nowhere. */
  readonly otlp:
    | {
        readonly endpoint: string
        readonly headers: Readonly<Record<string, string>>
        readonly serviceName: string
        /** Whether traces show prompts, answers, tool arguments and results. */
        readonly contents: boolean
      }
    | undefined
  readonly toolGraceMs: number
  readonly drainMs: number
  readonly modelIdleMs: number
  /** 0 means that requests to models are not kept. */
  readonly keepRequestsMs: number
  readonly retention: RetentionRules
  /** True if npm started this process. An npm that is killed does not forward the signal. */
  readonly underNpm: boolean
}

export type Environment = Readonly<Record<string, string | undefined>>

/** The only reader of the environment. */
export function readConfig(env: Environment = process.env): Config {
  const values = readSettings(env)
  const config: Config = {
    host: values.HOST,
    port: values.PORT,
    databaseUrl: values.DATABASE_URL,
    dataDir: values.HOLDPOINT_DATA_DIR,
    redisUrl: values.REDIS_URL,
    preparedStatements: values.HOLDPOINT_PREPARED_STATEMENTS === '1',
    workers: values.HOLDPOINT_WORKERS,
    healthPort: values.HOLDPOINT_HEALTH_PORT,
    tenantRuns: values.HOLDPOINT_TENANT_RUNS || null,
    agentRuns: values.HOLDPOINT_AGENT_RUNS || null,
    keyRuns: values.HOLDPOINT_KEY_RUNS || null,
    apiKey: values.HOLDPOINT_API_KEY,
    secretKeys: values.HOLDPOINT_SECRET_KEY,
    tokenTrust: {
      secret: values.HOLDPOINT_JWT_SECRET,
      publicKey: values.HOLDPOINT_JWT_PUBLIC_KEY,
      jwksUrl: values.HOLDPOINT_JWKS_URL,
      issuer: values.HOLDPOINT_JWT_ISSUER,
      audience: values.HOLDPOINT_JWT_AUDIENCE,
    },
    allowedOrigins: values.HOLDPOINT_ALLOWED_ORIGINS,
    keyRequests: values.HOLDPOINT_KEY_REQUESTS,
    keySockets: values.HOLDPOINT_KEY_SOCKETS,
    keySubscriptions: values.HOLDPOINT_KEY_SUBSCRIPTIONS,
    tenantRequests: values.HOLDPOINT_TENANT_REQUESTS,
    maxBodyBytes: values.HOLDPOINT_MAX_BODY,
    maxFileBytes: values.HOLDPOINT_MAX_FILE,
    tenantStorageBytes: values.HOLDPOINT_TENANT_STORAGE,
    endpoints: endpointsOf(values, env),
    mcpServers: values.HOLDPOINT_MCP ? readMcpFile(values.HOLDPOINT_MCP, env) : [],
    allowPrivateNetwork: values.HOLDPOINT_ALLOW_PRIVATE_NETWORK === '1',
    // People write their own documents there.
    graphiql: values.HOLDPOINT_GRAPHIQL === '1' && values.HOLDPOINT_TRUSTED_DOCUMENTS === undefined,
    introspection: values.HOLDPOINT_INTROSPECTION === '1',
    trustedDocuments: values.HOLDPOINT_TRUSTED_DOCUMENTS
      ? readTrustedDocuments(values.HOLDPOINT_TRUSTED_DOCUMENTS)
      : undefined,
    console: values.HOLDPOINT_CONSOLE === '1',
    toolsPath: values.HOLDPOINT_TOOLS,
    logLevel: values.LOG_LEVEL,
    otlp: otlpOf(values),
    toolGraceMs: values.HOLDPOINT_TOOL_GRACE_MS,
    drainMs: values.HOLDPOINT_DRAIN_MS,
    modelIdleMs: values.HOLDPOINT_MODEL_IDLE_MS,
    keepRequestsMs: values.HOLDPOINT_KEEP_REQUESTS,
    retention: retentionOf(values),
    underNpm: env['npm_lifecycle_event'] !== undefined,
  }
  return Object.freeze(config)
}

/** The settings from a program that embeds the server. Missing ones come from the environment. */
export function readGivenConfig(given: GivenSettings): Config {
  const unknown = Object.keys(given).find((name) => !(name in settings))
  if (unknown !== undefined)
    throw new StartError(`There is no setting "${unknown}": use the name of an environment variable, such as PORT.`)
  const texts = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return readConfig({ ...process.env, ...(Object.fromEntries(texts) as Environment) })
}

function retentionOf(values: SettingValues): RetentionRules {
  const exceptions = values.HOLDPOINT_RETENTION ? readRetentionFile(values.HOLDPOINT_RETENTION) : undefined
  const defaults = {
    logs: values.HOLDPOINT_KEEP_LOGS ?? null,
    runs: values.HOLDPOINT_KEEP_RUNS ?? null,
    archived: values.HOLDPOINT_KEEP_ARCHIVED ?? null,
    audit: values.HOLDPOINT_KEEP_AUDIT ?? null,
  }
  return Object.freeze({ defaults, tenants: exceptions?.tenants ?? {}, agents: exceptions?.agents ?? {} })
}

function otlpOf(values: SettingValues): Config['otlp'] {
  const endpoint = values.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined) return undefined
  return Object.freeze({
    endpoint,
    headers: values.OTEL_EXPORTER_OTLP_HEADERS,
    serviceName: values.OTEL_SERVICE_NAME,
    contents: values.HOLDPOINT_TRACE_CONTENTS === '1',
  })
}

/** The providers file may add options to a built-in provider, whose key and address come from variables. */
function endpointsOf(values: SettingValues, env: Environment): readonly EndpointConfig[] {
  const described = values.HOLDPOINT_PROVIDERS ? readProvidersFile(values.HOLDPOINT_PROVIDERS, env) : []
  const builtin = {
    openai: { apiKey: values.OPENAI_API_KEY, baseUrl: values.OPENAI_BASE_URL },
    'openai-chat': {
      apiKey: values.OPENAI_CHAT_API_KEY ?? values.OPENAI_API_KEY,
      baseUrl: values.OPENAI_CHAT_BASE_URL ?? values.OPENAI_BASE_URL,
    },
    anthropic: { apiKey: values.ANTHROPIC_API_KEY, baseUrl: values.ANTHROPIC_BASE_URL },
  }
  const names = Object.keys(builtin) as (keyof typeof builtin)[]
  return Object.freeze([
    ...names.map((name) => ({
      ...(described.find((endpoint) => endpoint.name === name) ?? plainEndpoint(name)),
      ...builtin[name],
      // The adapter names the variable.
      missingKey: undefined,
    })),
    ...described.filter(({ name }) => !(name in builtin)),
  ])
}

/** Whether only programs on this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
