import { isIP } from 'node:net'

import { readProvidersFile, type EndpointConfig } from './providers-file.ts'
import { readSettings } from './settings.ts'
import type { LogLevel } from './util/log.ts'

/** The address of a provider's API and the key for it. Undefined means the default of the SDK. */
export interface ProviderAccess {
  readonly apiKey: string | undefined
  readonly baseUrl: string | undefined
}

/**
 * Everything that the environment decides, read once and never changed. `settings.ts` says what each variable means.
 */
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
  /** Undefined: a worker has no health port. */
  readonly healthPort: number | undefined
  /** Null: no limit. */
  readonly tenantRuns: number | null
  readonly agentRuns: number | null
  readonly apiKey: string | undefined
  readonly allowedOrigins: readonly string[]
  readonly maxBodyBytes: number
  readonly openai: ProviderAccess
  readonly openaiChat: ProviderAccess
  readonly anthropic: ProviderAccess
  /** The endpoints of the providers file. */
  readonly endpoints: readonly EndpointConfig[]
  readonly allowPrivateNetwork: boolean
  /** Whether the web console is served. */
  readonly console: boolean
  readonly toolsPath: string | undefined
  readonly logLevel: LogLevel
  readonly otlpEndpoint: string | undefined
  readonly toolGraceMs: number
  readonly drainMs: number
  readonly modelIdleMs: number
  /** True if npm started this process. An npm that is killed does not forward the signal. */
  readonly underNpm: boolean
}

export type Environment = Readonly<Record<string, string | undefined>>

/** The only reader of the environment. */
export function readConfig(env: Environment = process.env): Config {
  const values = readSettings(env)
  const openai = Object.freeze({ apiKey: values.OPENAI_API_KEY, baseUrl: values.OPENAI_BASE_URL })
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
    apiKey: values.HOLDPOINT_API_KEY,
    allowedOrigins: values.HOLDPOINT_ALLOWED_ORIGINS,
    maxBodyBytes: values.HOLDPOINT_MAX_BODY,
    openai,
    openaiChat: Object.freeze({
      apiKey: values.OPENAI_CHAT_API_KEY ?? openai.apiKey,
      baseUrl: values.OPENAI_CHAT_BASE_URL ?? openai.baseUrl,
    }),
    anthropic: Object.freeze({ apiKey: values.ANTHROPIC_API_KEY, baseUrl: values.ANTHROPIC_BASE_URL }),
    endpoints: values.HOLDPOINT_PROVIDERS ? readProvidersFile(values.HOLDPOINT_PROVIDERS, env) : [],
    allowPrivateNetwork: values.HOLDPOINT_ALLOW_PRIVATE_NETWORK === '1',
    console: values.HOLDPOINT_CONSOLE === '1',
    toolsPath: values.HOLDPOINT_TOOLS,
    logLevel: values.LOG_LEVEL,
    otlpEndpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
    toolGraceMs: values.HOLDPOINT_TOOL_GRACE_MS,
    drainMs: values.HOLDPOINT_DRAIN_MS,
    modelIdleMs: values.HOLDPOINT_MODEL_IDLE_MS,
    underNpm: env['npm_lifecycle_event'] !== undefined,
  }
  return Object.freeze(config)
}

/** Whether only programs on this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
