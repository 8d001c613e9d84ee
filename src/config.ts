import { isIP } from 'node:net'
import { resolve } from 'node:path'

import { logLevels, type LogLevel } from './util/log.ts'
import { StartError } from './util/start-error.ts'

/** Where a provider's API is and the key for it; undefined: as the SDK has it. */
export interface ProviderAccess {
  readonly apiKey: string | undefined
  readonly baseUrl: string | undefined
}

/** Everything that the environment decides, read once and never changed. */
export interface Config {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Undefined: an embedded Postgres in `dataDir`. */
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  readonly redisUrl: string | undefined
  /** Runs driven at the same time by this process; 0: none. */
  readonly workers: number
  readonly apiKey: string | undefined
  /** Origins of other sites whose pages may use the API. */
  readonly allowedOrigins: readonly string[]
  readonly openai: ProviderAccess
  readonly openaiChat: ProviderAccess
  readonly anthropic: ProviderAccess
  readonly allowPrivateNetwork: boolean
  /** A module that exports tools, or a folder of such modules. */
  readonly toolsPath: string | undefined
  readonly logLevel: LogLevel
  readonly otlpEndpoint: string | undefined
  /** How long a cancelled tool may take to end by itself. */
  readonly toolGraceMs: number
  /** How long running steps may take to end when the process drains. */
  readonly drainMs: number
  /** How long a model may be silent in the middle of an answer. */
  readonly modelIdleMs: number
  /** npm started us: it may die without passing the signal on. */
  readonly underNpm: boolean
}

export type Environment = Readonly<Record<string, string | undefined>>

/** The only reader of the environment. An empty value counts as unset. */
export function readConfig(env: Environment = process.env): Config {
  const openai = { apiKey: env['OPENAI_API_KEY'] || undefined, baseUrl: readUrl(env, 'OPENAI_BASE_URL', webProtocols) }
  const config: Config = {
    host: readHost(env),
    port: readInteger(env, 'PORT', { fallback: 4000, least: 0, most: 65_535 }),
    databaseUrl: readUrl(env, 'DATABASE_URL', ['postgres:', 'postgresql:']),
    dataDir: resolve(env['HOLDPOINT_DATA_DIR'] || '.holdpoint'),
    redisUrl: readUrl(env, 'REDIS_URL', ['redis:', 'rediss:']),
    workers: readInteger(env, 'HOLDPOINT_WORKERS', { fallback: 64, least: 0, most: 10_000 }),
    apiKey: readKey(env, 'HOLDPOINT_API_KEY'),
    allowedOrigins: readOrigins(env, 'HOLDPOINT_ALLOWED_ORIGINS'),
    openai: Object.freeze(openai),
    openaiChat: Object.freeze({
      apiKey: env['OPENAI_CHAT_API_KEY'] || openai.apiKey,
      baseUrl: readUrl(env, 'OPENAI_CHAT_BASE_URL', webProtocols) ?? openai.baseUrl,
    }),
    anthropic: Object.freeze({
      apiKey: env['ANTHROPIC_API_KEY'] || undefined,
      baseUrl: readUrl(env, 'ANTHROPIC_BASE_URL', webProtocols),
    }),
    allowPrivateNetwork: readChoice(env, 'HOLDPOINT_ALLOW_PRIVATE_NETWORK', ['0', '1'], '0') === '1',
    toolsPath: env['HOLDPOINT_TOOLS'] ? resolve(env['HOLDPOINT_TOOLS']) : undefined,
    logLevel: readChoice(env, 'LOG_LEVEL', logLevels, 'info'),
    otlpEndpoint: readUrl(env, 'OTEL_EXPORTER_OTLP_ENDPOINT', webProtocols),
    toolGraceMs: readInteger(env, 'HOLDPOINT_TOOL_GRACE_MS', { fallback: 5_000, least: 0, most: hourMs }),
    drainMs: readInteger(env, 'HOLDPOINT_DRAIN_MS', { fallback: 10_000, least: 0, most: hourMs }),
    modelIdleMs: readInteger(env, 'HOLDPOINT_MODEL_IDLE_MS', { fallback: 600_000, least: 1, most: hourMs }),
    underNpm: env['npm_lifecycle_event'] !== undefined,
  }
  if (!isLoopback(config.host) && config.apiKey === undefined) {
    throw new StartError(
      `HOST is "${config.host}", which others can reach, and there is no HOLDPOINT_API_KEY: set one, or leave HOST at 127.0.0.1.`,
    )
  }
  return Object.freeze(config)
}

const hourMs = 3_600_000
const webProtocols = ['http:', 'https:']

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function wrong(name: string, value: string, takes: string): StartError {
  return new StartError(`${name} is "${value}", and takes ${takes}.`)
}

function readInteger(
  env: Environment,
  name: string,
  { fallback, least, most }: { fallback: number; least: number; most: number },
): number {
  const value = env[name]
  if (!value) return fallback
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN
  if (!(number >= least && number <= most)) throw wrong(name, value, `a whole number from ${least} to ${most}`)
  return number
}

function readChoice<T extends string>(env: Environment, name: string, choices: readonly T[], fallback: T): T {
  const value = env[name]
  if (!value) return fallback
  const choice = choices.find((known) => known === value)
  if (choice === undefined) throw wrong(name, value, `one of ${choices.join(', ')}`)
  return choice
}

function readUrl(env: Environment, name: string, protocols: readonly string[]): string | undefined {
  const value = env[name]
  if (!value) return undefined
  const takes = `an address that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`
  // Shown without the password, if it has one, which may hold an @ itself.
  if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
    throw wrong(name, value.replace(/^([a-z]+:\/\/)?([^:@]*:)?.*@/is, '$1$2***@'), takes)
  }
  return value
}

function readOrigins(env: Environment, name: string): readonly string[] {
  const origins = (env[name] ?? '').split(',').map((one) => one.trim().replace(/\/$/, ''))
  const given = origins.filter((origin) => origin !== '')
  for (const origin of given) {
    if (!URL.canParse(origin) || !webProtocols.includes(new URL(origin).protocol) || new URL(origin).origin !== origin)
      throw wrong(name, origin, 'origins such as https://app.example.com, separated by commas')
  }
  return Object.freeze(given)
}

function readHost(env: Environment): string {
  const value = env['HOST'] || '127.0.0.1'
  if (!/^[\w.:-]+$/.test(value)) throw wrong('HOST', value, 'an IP address or a host name')
  return value
}

function readKey(env: Environment, name: string): string | undefined {
  const value = env[name]
  if (!value) return undefined
  // What was given is a secret, so it is not shown.
  if (!/^[\x21-\x7e]+$/.test(value)) throw wrong(name, '***', 'a key of printable characters without spaces')
  return value
}
