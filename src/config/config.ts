import { isIP } from 'node:net'

import type { RetentionRules } from '../domain/retention.ts'
import { isJsonObject } from '../util/json.ts'
import { nearest } from '../util/nearest.ts'
import { StartError } from '../util/start-error.ts'
import type { Environment } from './file.ts'
import { endpointsOf, type EndpointConfig } from './providers-file.ts'
import { settings } from './settings.ts'

/** Everything that the environment decides, read once and never changed. `settings` describes each value. */
export type Config = { readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]['read']> } & {
  /** True if npm started this process. An npm that is killed does not forward the signal. */
  readonly underNpm: boolean
}

/** The only reader of the environment. An empty value counts as unset. */
export function readConfig(environment: Environment = process.env): Config {
  const values = Object.entries(settings).map(([name, { read }]) => {
    return [name, read(environment[name] || undefined, name, environment)] as const
  })
  const underNpm = environment['npm_lifecycle_event'] !== undefined
  return Object.freeze({ ...Object.fromEntries(values), underNpm }) as Config
}

/** Settings that a program gives, by the names of the environment variables. */
export type GivenSettings = { readonly [Name in keyof typeof settings]?: string | number | undefined }

/** The settings from a program that embeds the server. Missing ones come from the environment. */
export function readGivenConfig(given: GivenSettings): Config {
  if (!isJsonObject(given)) throw new StartError('`settings` of createApp must be an object.')
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(settings, name))
  if (unknown !== undefined)
    throw new StartError(
      `There is no setting "${unknown}" in createApp({ settings }). The nearest one is "${nearest(unknown, Object.keys(settings))}".`,
    )
  const texts = Object.entries(given).flatMap(([name, value]: [string, unknown]) => {
    if (value === undefined) return []
    // No value is shown, because it may be a secret.
    if (typeof value !== 'string' && typeof value !== 'number')
      throw new StartError(`${name} in createApp({ settings }) must be a text or a number.`)
    return [[name, String(value)] as const]
  })
  return readConfig({ ...process.env, ...Object.fromEntries(texts) })
}

export function databaseOptions(config: Config) {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl } = config
  if (url === undefined && directUrl !== undefined)
    throw new StartError(
      'DATABASE_DIRECT_URL is set and DATABASE_URL is not: without a pooler, set DATABASE_URL alone.',
    )
  return {
    url,
    // Without a pooler between, they are the same.
    directUrl: directUrl === url ? undefined : directUrl,
    dataDir: config.HOLDPOINT_DATA_DIR,
    poolSize: config.HOLDPOINT_POOL,
  }
}

/** The built-in model providers, and those of the providers file, which may add options to a built-in one. */
export function modelEndpoints(config: Config): EndpointConfig[] {
  const openai = { apiKey: config.OPENAI_API_KEY, baseUrl: config.OPENAI_BASE_URL }
  const chat = { apiKey: config.OPENAI_CHAT_API_KEY, baseUrl: config.OPENAI_CHAT_BASE_URL }
  const anthropic = { apiKey: config.ANTHROPIC_API_KEY, baseUrl: config.ANTHROPIC_BASE_URL }
  const openaiChat = { apiKey: chat.apiKey ?? openai.apiKey, baseUrl: chat.baseUrl ?? openai.baseUrl }
  return endpointsOf({ openai, 'openai-chat': openaiChat, anthropic }, config.HOLDPOINT_PROVIDERS)
}

/** How tokens of an identity provider are verified. */
export function tokenTrust(config: Config) {
  return {
    secret: config.HOLDPOINT_JWT_SECRET,
    publicKey: config.HOLDPOINT_JWT_PUBLIC_KEY,
    jwksUrl: config.HOLDPOINT_JWKS_URL,
    issuer: config.HOLDPOINT_JWT_ISSUER,
    audience: config.HOLDPOINT_JWT_AUDIENCE,
  }
}

/** How many runs are driven at the same time. Null means no limit. */
export function runLimits(config: Config) {
  return {
    perTenant: config.HOLDPOINT_TENANT_RUNS || null,
    perAgent: config.HOLDPOINT_AGENT_RUNS || null,
    perKey: config.HOLDPOINT_KEY_RUNS || null,
  }
}

export function requestLimits(config: Config) {
  return {
    requestBytes: config.HOLDPOINT_MAX_BODY,
    introspection: config.HOLDPOINT_INTROSPECTION,
    keyRequests: config.HOLDPOINT_KEY_REQUESTS,
    keySockets: config.HOLDPOINT_KEY_SOCKETS,
    keySubscriptions: config.HOLDPOINT_KEY_SUBSCRIPTIONS,
    tenantRequests: config.HOLDPOINT_TENANT_REQUESTS,
  }
}

export function retentionRules(config: Config): RetentionRules {
  const defaults = {
    logs: config.HOLDPOINT_KEEP_LOGS,
    runs: config.HOLDPOINT_KEEP_RUNS,
    archived: config.HOLDPOINT_KEEP_ARCHIVED,
    audit: config.HOLDPOINT_KEEP_AUDIT,
  }
  return { defaults, tenants: {}, agents: {}, ...config.HOLDPOINT_RETENTION }
}

/** Whether only programs on this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
