import { createPublicKey, type KeyObject } from 'node:crypto'
import { resolve } from 'node:path'

import { logLevels } from './util/log.ts'
import { StartError } from './util/start-error.ts'

/** One environment variable. `--help`, the table of the README and the checks at the start all come from here. */
export interface Setting<Value> {
  readonly meaning: string
  /** The default as `--help` and the README show it. */
  readonly shownDefault: string
  /** `given` is undefined if the variable is unset or empty. Throws a StartError if the value is invalid. */
  readonly read: (given: string | undefined, name: string) => Value
}

const hourMs = 3_600_000
const webProtocols = ['http:', 'https:']

/** Every environment variable that the server reads. */
export const settings = {
  PORT: integer('port of the API; 0 takes a free port', { default: 4000, least: 0, most: 65_535 }),
  HOST: text('address that the API listens on', {
    default: '127.0.0.1',
    pattern: /^[\w.:-]+$/,
    expected: 'an IP address or a host name',
  }),
  DATABASE_URL: url('a Postgres 14 or later', ['postgres:', 'postgresql:'], 'an embedded Postgres'),
  HOLDPOINT_DATA_DIR: path('folder of the embedded Postgres', '.holdpoint'),
  HOLDPOINT_WORKERS: integer('runs driven at the same time by this process; 0: API only', {
    default: 64,
    least: 0,
    most: 10_000,
  }),
  HOLDPOINT_HEALTH_PORT: optional(
    integer('another port for /healthz, /readyz and /metrics, without a key; 0 takes a free port', {
      default: 0,
      least: 0,
      most: 65_535,
    }),
  ),
  HOLDPOINT_TENANT_RUNS: integer('runs of one tenant driven at the same time by all processes; 0: no limit', {
    default: 0,
    least: 0,
    most: 1_000_000,
  }),
  HOLDPOINT_AGENT_RUNS: integer('runs of one agent driven at the same time by all processes; 0: no limit', {
    default: 0,
    least: 0,
    most: 1_000_000,
  }),
  HOLDPOINT_KEY_RUNS: integer('runs of one key or person driven at the same time by all processes; 0: no limit', {
    default: 0,
    least: 0,
    most: 1_000_000,
  }),
  HOLDPOINT_PREPARED_STATEMENTS: choice(
    '0 for a connection pooler that cannot keep prepared statements',
    ['0', '1'],
    '1',
  ),
  HOLDPOINT_API_KEY: secret('a key with every scope; without any key the server listens on loopback only'),
  HOLDPOINT_SECRET_KEY: secretKeys('encrypts stored secrets; several, separated by commas: the first one encrypts'),
  HOLDPOINT_JWT_SECRET: secret("secret that signs your identity provider's tokens (HS256, HS384, HS512)"),
  HOLDPOINT_JWT_PUBLIC_KEY: publicKey("public key of your identity provider's tokens, as PEM"),
  HOLDPOINT_JWKS_URL: url("address of your identity provider's public keys (JWKS)", webProtocols, 'none'),
  HOLDPOINT_JWT_ISSUER: optional(
    text('what tokens must have as `iss`', { pattern: /^\S+$/, expected: 'a text without spaces' }),
  ),
  HOLDPOINT_JWT_AUDIENCE: optional(
    text('what tokens must have in `aud`', { pattern: /^\S+$/, expected: 'a text without spaces' }),
  ),
  HOLDPOINT_ALLOWED_ORIGINS: origins('other sites whose pages may use the API, separated by commas'),
  HOLDPOINT_KEY_REQUESTS: integer('requests per second of one key, per process; 0: no limit', {
    default: 1_000,
    least: 0,
    most: 1_000_000,
  }),
  HOLDPOINT_KEY_SOCKETS: integer('open WebSockets of one key, per process', {
    default: 2_000,
    least: 1,
    most: 1_000_000,
  }),
  HOLDPOINT_KEY_SUBSCRIPTIONS: integer('open subscriptions of one key, per process', {
    default: 10_000,
    least: 1,
    most: 1_000_000,
  }),
  HOLDPOINT_TENANT_REQUESTS: integer('requests per second of all keys of one tenant, per process; 0: no limit', {
    default: 0,
    least: 0,
    most: 1_000_000,
  }),
  HOLDPOINT_MAX_BODY: bytes('largest request body and WebSocket frame', { default: '10mb', most: '100mb' }),
  HOLDPOINT_MAX_FILE: bytes('largest image or document that is stored', { default: '10mb', most: '100mb' }),
  HOLDPOINT_TENANT_STORAGE: optional(
    bytes('all images and documents that one tenant may store together, such as 20gb', {
      default: '10mb',
      most: '1000000gb',
    }),
  ),
  OPENAI_API_KEY: secret('key for the models openai/…'),
  OPENAI_BASE_URL: url('address of the Responses API', webProtocols, "the SDK's"),
  OPENAI_CHAT_API_KEY: secret('key for the models openai-chat/…', 'OPENAI_API_KEY'),
  OPENAI_CHAT_BASE_URL: url('a server that speaks Chat Completions', webProtocols, 'OPENAI_BASE_URL'),
  ANTHROPIC_API_KEY: secret('key for the models anthropic/…'),
  ANTHROPIC_BASE_URL: url('address of the Messages API', webProtocols, "the SDK's"),
  HOLDPOINT_PROVIDERS: path('a JSON or YAML file with named model endpoints'),
  HOLDPOINT_MCP: path('a JSON or YAML file with MCP servers, including programs on this machine'),
  HOLDPOINT_ALLOW_PRIVATE_NETWORK: choice('1 lets HTTP and MCP tools reach private addresses', ['0', '1'], '0'),
  HOLDPOINT_GRAPHIQL: choice('0 turns GraphiQL off', ['0', '1'], '1'),
  HOLDPOINT_INTROSPECTION: choice('0 hides the schema from clients', ['0', '1'], '1'),
  HOLDPOINT_TRUSTED_DOCUMENTS: path(
    'a JSON file with the only GraphQL documents that clients may use; GraphiQL is then off',
  ),
  HOLDPOINT_CONSOLE: choice('0 turns the web console off', ['0', '1'], '1'),
  HOLDPOINT_TOOLS: path('a module, or a folder of modules, with tools in code'),
  HOLDPOINT_TOOL_GRACE_MS: integer('how long a cancelled tool may keep running', {
    default: 5_000,
    least: 0,
    most: hourMs,
  }),
  HOLDPOINT_MODEL_IDLE_MS: integer('how long a model may send nothing', { default: 600_000, least: 1, most: hourMs }),
  HOLDPOINT_KEEP_LOGS: kept('how long the streams of ended runs can be replayed'),
  HOLDPOINT_KEEP_RUNS: kept('how long ended runs and their messages are kept once they have left the context'),
  HOLDPOINT_KEEP_ARCHIVED: kept('how long archived conversations are kept'),
  HOLDPOINT_KEEP_AUDIT: kept('how long the audit log is kept'),
  HOLDPOINT_RETENTION: path('a JSON file with other times for single tenants and agents'),
  HOLDPOINT_KEEP_REQUESTS: duration(
    'how long `Step.request` and `Step.response` are kept, for agents that ask for it; 0: never',
    {
      default: '7d',
      most: '3650d',
    },
  ),
  HOLDPOINT_DRAIN_MS: integer('how long running steps may take to finish at a shutdown', {
    default: 60_000,
    least: 0,
    most: hourMs,
  }),
  LOG_LEVEL: choice(logLevels.join(', '), logLevels, 'info'),
  REDIS_URL: url(
    'a Redis that carries live text between processes; needs the package `redis`',
    ['redis:', 'rediss:'],
    'Postgres does it',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: url('where traces and metrics go, by OTLP over HTTP', webProtocols, 'none'),
  OTEL_EXPORTER_OTLP_HEADERS: headers('headers for it, such as authorization=Bearer%20x, separated by commas'),
  OTEL_SERVICE_NAME: text('name of this service in traces and metrics', {
    default: 'holdpoint',
    pattern: /^[\x20-\x7e]{1,200}$/,
    expected: 'at most 200 plain characters',
  }),
  HOLDPOINT_TRACE_CONTENTS: choice('1 lets traces show prompts, answers, tool arguments and results', ['0', '1'], '0'),
} as const satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof settings
/** Settings that a program gives, by the names of the environment variables. */
export type GivenSettings = { readonly [Name in SettingName]?: string | number | undefined }

export type SettingValues = { readonly [Name in SettingName]: ReturnType<(typeof settings)[Name]['read']> }

/** Reads every setting. An empty value counts as unset. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): SettingValues {
  const entries = Object.entries(settings).map(([name, { read }]) => [name, read(env[name] || undefined, name)])
  return Object.fromEntries(entries) as SettingValues
}

function wrong(name: string, given: string, expected: string): StartError {
  return new StartError(`${name} is "${given}", but must be ${expected}.`)
}

function integer(meaning: string, range: { default: number; least: number; most: number }): Setting<number> {
  const { least, most } = range
  return {
    meaning,
    shownDefault: String(range.default),
    read(given, name) {
      if (given === undefined) return range.default
      const number = /^\d+$/.test(given) ? Number(given) : Number.NaN
      if (number >= least && number <= most) return number
      throw wrong(name, given, `a whole number from ${least} to ${most}`)
    },
  }
}

/** Undefined unless it is set. */
function optional<Value>(setting: Setting<Value>): Setting<Value | undefined> {
  const read: Setting<Value | undefined>['read'] = (given, name) =>
    given === undefined ? undefined : setting.read(given, name)
  return { ...setting, shownDefault: 'none', read }
}

const durations: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: hourMs, d: 24 * hourMs }

export function durationToMs(given: string): number | undefined {
  if (given === '0') return 0
  const [, digits, unit] = /^(\d{1,9})\s*([smhd])$/i.exec(given) ?? []
  return digits === undefined ? undefined : Number(digits) * durations[unit!.toLowerCase()]!
}

function duration(meaning: string, range: { default: string; most: string }): Setting<number> {
  return {
    meaning,
    shownDefault: range.default,
    read(given = range.default, name) {
      const ms = durationToMs(given)
      if (ms !== undefined && ms <= durationToMs(range.most)!) return ms
      throw wrong(name, given, `0, or a time up to ${range.most} such as 30m, 12h or 7d`)
    },
  }
}

/** Undefined means forever. */
function kept(meaning: string): Setting<number | undefined> {
  return { ...optional(duration(meaning, { default: '0', most: '3650d' })), shownDefault: 'forever' }
}

const units: Readonly<Record<string, number>> = { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 }

function toBytes(given: string): number | undefined {
  const [, digits, unit] = /^(\d{1,12})\s*(b|kb|mb|gb|)$/i.exec(given) ?? []
  return digits === undefined ? undefined : Number(digits) * units[unit!.toLowerCase()]!
}

function bytes(meaning: string, range: { default: string; most: string }): Setting<number> {
  return {
    meaning,
    shownDefault: range.default,
    read(given = range.default, name) {
      const size = toBytes(given)
      if (size !== undefined && size >= 1024 && size <= toBytes(range.most)!) return size
      throw wrong(name, given, `a size from 1kb to ${range.most}, such as 512kb or 10mb`)
    },
  }
}

function choice<Choice extends string>(meaning: string, choices: readonly Choice[], initial: Choice): Setting<Choice> {
  return {
    meaning,
    shownDefault: initial,
    read(given = initial, name) {
      const chosen = choices.find((one) => one === given)
      if (chosen === undefined) throw wrong(name, given, `one of ${choices.join(', ')}`)
      return chosen
    },
  }
}

function text(meaning: string, rule: { default?: string; pattern: RegExp; expected: string }): Setting<string> {
  return {
    meaning,
    shownDefault: rule.default ?? 'none',
    read(given = rule.default ?? '', name) {
      if (!rule.pattern.test(given)) throw wrong(name, given, rule.expected)
      return given
    },
  }
}

/** With a default, the setting is never undefined. */
function path(meaning: string, initial: string): Setting<string>
function path(meaning: string): Setting<string | undefined>
function path(meaning: string, initial?: string): Setting<string | undefined> {
  return {
    meaning,
    shownDefault: initial ?? 'none',
    read: (given = initial) => (given === undefined ? undefined : resolve(given)),
  }
}

/** No message shows the value. */
function secret(meaning: string, shownDefault = 'none'): Setting<string | undefined> {
  return {
    meaning,
    shownDefault,
    read(given, name) {
      if (given === undefined || /^[\x21-\x7e]+$/.test(given)) return given
      throw wrong(name, '***', 'printable characters without spaces')
    },
  }
}

/** No message shows the value. The keys are random, so a plain derivation is enough. Short ones could be guessed. */
function secretKeys(meaning: string): Setting<readonly string[]> {
  return {
    meaning,
    shownDefault: 'none',
    read(given = '', name) {
      const keys = given.split(',').filter((key) => key !== '')
      if (keys.some((key) => !/^[\x21-\x7e]{32,}$/.test(key)))
        throw wrong(
          name,
          '***',
          'keys of at least 32 printable characters, such as the output of openssl rand -base64 32',
        )
      return Object.freeze(keys)
    },
  }
}

/** In the environment, line breaks may be written as `\n`. */
function publicKey(meaning: string): Setting<KeyObject | undefined> {
  return {
    meaning,
    shownDefault: 'none',
    read(given, name) {
      if (given === undefined) return undefined
      try {
        return createPublicKey(given.replaceAll('\\n', '\n'))
      } catch {
        throw wrong(name, '***', 'a public key in PEM format, which begins with -----BEGIN PUBLIC KEY-----')
      }
    },
  }
}

function url(meaning: string, protocols: readonly string[], shownDefault: string): Setting<string | undefined> {
  return {
    meaning,
    shownDefault,
    read(given, name) {
      if (given === undefined) return undefined
      if (URL.canParse(given) && protocols.includes(new URL(given).protocol)) return given
      const starts = protocols.map((protocol) => `${protocol}//`).join(' or ')
      // The password is not shown. It may contain an @ itself.
      const shown = given.replace(/^([a-z]+:\/\/)?([^:@]*:)?.*@/is, '$1$2***@')
      throw wrong(name, shown, `an address that begins with ${starts}`)
    },
  }
}

/**
 * Names and values as in OpenTelemetry: `name=value`, percent-encoded, separated by commas. No message shows a value.
 */
function headers(meaning: string): Setting<Readonly<Record<string, string>>> {
  return {
    meaning,
    shownDefault: 'none',
    read(given = '', name) {
      const pairs = given.split(',').filter((pair) => pair.trim() !== '')
      const read = pairs.map((pair) => {
        const [, key, value] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
        const decoded = value === undefined ? undefined : decodePercent(value)
        if (decoded === undefined) throw wrong(name, '***', 'pairs such as name=value, separated by commas')
        return [key!, decoded] as const
      })
      return Object.freeze(Object.fromEntries(read))
    },
  }
}

function decodePercent(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text)
    return /^[\x20-\x7e]*$/.test(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}

function origins(meaning: string): Setting<readonly string[]> {
  return {
    meaning,
    shownDefault: 'none',
    read(given = '', name) {
      const list = given.split(',').map((one) => one.trim().replace(/\/$/, ''))
      const named = list.filter((origin) => origin !== '')
      const bad = named.find((origin) => !isOrigin(origin))
      if (bad !== undefined) throw wrong(name, bad, 'origins such as https://app.example.com, separated by commas')
      return Object.freeze(named)
    },
  }
}

function isOrigin(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, origin } = new URL(value)
  return webProtocols.includes(protocol) && origin === value
}
