import { readFileSync } from 'node:fs'

import { describe, expect, test } from 'vitest'

import { helpText } from '../src/cli/help.ts'
import { modelEndpoints, readConfig, retentionRules } from '../src/config/config.ts'
import type { Environment } from '../src/config/file.ts'
import { createApp } from '../src/index.ts'
import { chapters, settings } from '../src/config/settings.ts'
import { StartError } from '../src/util/start-error.ts'

describe('readConfig', () => {
  test('[CFG1] an empty environment gives the documented defaults, frozen', () => {
    const config = readConfig({})
    expect(config).toEqual({
      PORT: 4000,
      HOST: '127.0.0.1',
      HOLDPOINT_DRAIN_MS: 60_000,
      LOG_LEVEL: 'info',
      HOLDPOINT_DATA_DIR: `${process.cwd()}/.holdpoint`,
      HOLDPOINT_POOL: 20,
      HOLDPOINT_WORKERS: 64,
      HOLDPOINT_TENANT_RUNS: 0,
      HOLDPOINT_AGENT_RUNS: 0,
      HOLDPOINT_KEY_RUNS: 0,
      HOLDPOINT_MODEL_IDLE_MS: 600_000,
      HOLDPOINT_TOOL_GRACE_MS: 5_000,
      HOLDPOINT_PROVIDERS: [],
      HOLDPOINT_MCP: [],
      HOLDPOINT_ALLOW_PRIVATE_NETWORK: false,
      HOLDPOINT_SECRET_KEY: [],
      HOLDPOINT_ALLOWED_ORIGINS: [],
      HOLDPOINT_CONSOLE: true,
      HOLDPOINT_GRAPHIQL: true,
      HOLDPOINT_INTROSPECTION: true,
      HOLDPOINT_KEY_REQUESTS: 1_000,
      HOLDPOINT_KEY_SOCKETS: 2_000,
      HOLDPOINT_KEY_SUBSCRIPTIONS: 10_000,
      HOLDPOINT_SUBGRAPH: false,
      HOLDPOINT_TENANT_REQUESTS: 0,
      HOLDPOINT_MAX_BODY: 10 * 1024 * 1024,
      HOLDPOINT_MAX_FILE: 10 * 1024 * 1024,
      HOLDPOINT_KEEP_LOGS: null,
      HOLDPOINT_KEEP_RUNS: null,
      HOLDPOINT_KEEP_ARCHIVED: null,
      HOLDPOINT_KEEP_AUDIT: null,
      HOLDPOINT_KEEP_DELIVERIES: 30 * 86_400_000,
      HOLDPOINT_RETENTION: {},
      HOLDPOINT_KEEP_REQUESTS: 7 * 86_400_000,
      OTEL_EXPORTER_OTLP_HEADERS: {},
      OTEL_SERVICE_NAME: 'holdpoint',
      HOLDPOINT_TRACE_CONTENTS: false,
      underNpm: false,
    })
    expect(Object.isFrozen(config) && Object.isFrozen(config.HOLDPOINT_ALLOWED_ORIGINS)).toBe(true)
    expect(readConfig({ PORT: '', DATABASE_URL: '', LOG_LEVEL: '' })).toEqual(config)
    expect(modelEndpoints(config).map(({ name, apiKey, baseUrl }) => [name, apiKey, baseUrl])).toEqual([
      ['openai', undefined, undefined],
      ['openai-chat', undefined, undefined],
      ['anthropic', undefined, undefined],
    ])
    expect(retentionRules(config)).toEqual({
      defaults: { logs: null, runs: null, archived: null, audit: null },
      tenants: {},
      agents: {},
    })
  })

  test('[CFG2] Chat Completions uses the settings of OpenAI by default', () => {
    const openai = { OPENAI_API_KEY: 'k1', OPENAI_BASE_URL: 'http://one.test/v1' }
    const chatOf = (env: Environment) => modelEndpoints(readConfig(env)).find(({ name }) => name === 'openai-chat')
    expect(chatOf(openai)).toMatchObject({ apiKey: 'k1', baseUrl: 'http://one.test/v1' })
    const chat = { OPENAI_CHAT_API_KEY: 'k2', OPENAI_CHAT_BASE_URL: 'http://two.test' }
    expect(chatOf({ ...openai, ...chat })).toMatchObject({ apiKey: 'k2', baseUrl: 'http://two.test' })
  })

  test.each<[Environment, string]>([
    [{ PORT: 'http' }, 'PORT is "http", but must be a whole number from 0 to 65535.'],
    [{ PORT: '65536' }, 'PORT is "65536", but must be a whole number from 0 to 65535.'],
    [
      { HOLDPOINT_KEEP_REQUESTS: 'a week' },
      'HOLDPOINT_KEEP_REQUESTS is "a week", but must be 0, or a time up to 3650d such as 30m, 12h or 7d.',
    ],
    [{ HOST: 'my host' }, 'HOST is "my host", but must be an IP address or a host name.'],
    [
      { DATABASE_URL: 'mysql://u:secret@h/d' },
      'DATABASE_URL is "mysql://u:***@h/d", but must be an address that begins with postgres:// or postgresql://.',
    ],
    [
      { DATABASE_URL: 'mysql://u:sec@ret@h/d' },
      'DATABASE_URL is "mysql://u:***@h/d", but must be an address that begins with postgres:// or postgresql://.',
    ],
    [
      { REDIS_URL: 'localhost:6379' },
      'REDIS_URL is "localhost:6379", but must be an address that begins with redis:// or rediss://.',
    ],
    [{ HOLDPOINT_WORKERS: '-1' }, 'HOLDPOINT_WORKERS is "-1", but must be a whole number from 0 to 10000.'],
    [{ HOLDPOINT_API_KEY: 'my key' }, 'HOLDPOINT_API_KEY is "***", but must be printable characters without spaces.'],
    [
      { HOLDPOINT_JWT_PUBLIC_KEY: 'abc' },
      'HOLDPOINT_JWT_PUBLIC_KEY is "***", but must be a public key in PEM format, which begins with -----BEGIN PUBLIC KEY-----.',
    ],
    [{ OPENAI_BASE_URL: 'x' }, 'OPENAI_BASE_URL is "x", but must be an address that begins with http:// or https://.'],
    [{ HOLDPOINT_ALLOW_PRIVATE_NETWORK: 'yes' }, 'HOLDPOINT_ALLOW_PRIVATE_NETWORK is "yes", but must be one of 0, 1.'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL is "loud", but must be one of trace, debug, info, warn, error, fatal, silent.'],
    ...['*', 'app.example', 'https://app.example/path', 'ftp://app.example'].map((origin): [Environment, string] => [
      { HOLDPOINT_ALLOWED_ORIGINS: `https://good.example, ${origin}` },
      `HOLDPOINT_ALLOWED_ORIGINS is "${origin}", but must be origins such as https://app.example.com, separated by commas.`,
    ]),
    [
      { HOLDPOINT_MAX_BODY: '1gb' },
      'HOLDPOINT_MAX_BODY is "1gb", but must be a size from 1kb to 100mb, such as 512kb or 10mb.',
    ],
    [{ HOLDPOINT_DRAIN_MS: '1.5' }, 'HOLDPOINT_DRAIN_MS is "1.5", but must be a whole number from 0 to 3600000.'],
  ])('[CFG3] an error about a bad value names the variable, the value and what was expected: %j', (env, line) => {
    expect(() => readConfig(env)).toThrow(new StartError(line))
  })

  test.each<[object, string]>([
    [{ settings: { PROT: 1 } }, 'There is no setting "PROT" in createApp({ settings }). The nearest one is "PORT".'],
    [
      { settings: { constructor: 1 } },
      'There is no setting "constructor" in createApp({ settings }). The nearest one is "PORT".',
    ],
    [
      { settings: { HOLDPOINT_API_KEY: null } },
      'HOLDPOINT_API_KEY in createApp({ settings }) must be a text or a number.',
    ],
    [
      { settings: { HOLDPOINT_GRAPHIQL: false } },
      'HOLDPOINT_GRAPHIQL in createApp({ settings }) must be a text or a number.',
    ],
    [{ settings: null }, '`settings` of createApp must be an object.'],
    [{ tool: [] }, 'createApp has no option "tool". The nearest one is "tools".'],
    [{ role: 'workr' }, '`role` of createApp must be "serve" or "worker".'],
  ])('[PKG6] wrong options of a program are refused with one line: %j', async (options, line) => {
    await expect(createApp(options)).rejects.toThrow(new StartError(line))
  })

  test('[CFG5] allowed origins are separated by commas, and a final slash is left out', () => {
    const config = readConfig({ HOLDPOINT_ALLOWED_ORIGINS: 'https://one.example/, http://localhost:5173,' })
    expect(config.HOLDPOINT_ALLOWED_ORIGINS).toEqual(['https://one.example', 'http://localhost:5173'])
  })

  test('[CFG6] a size is in bytes, kilobytes or megabytes', () => {
    const read = (size: string) => readConfig({ HOLDPOINT_MAX_BODY: size }).HOLDPOINT_MAX_BODY
    const sizes = ['4096', '512kb', '10MB', '2 mb'].map(read)
    expect(sizes).toEqual([4096, 512 * 1024, 10 * 1024 ** 2, 2 * 1024 ** 2])
  })

  test('[CFG7] docs/configuration.md and --help show every setting, and readConfig reads no other', () => {
    const page = readFileSync(new URL('../docs/configuration.md', import.meta.url), 'utf8')
    const help = helpText('1.0.0', chapters)
    const read = new Set<string>()
    readConfig(new Proxy({}, { get: (_target, name) => void read.add(String(name)) }))
    for (const [name, { meaning }] of Object.entries(settings)) {
      expect(help).toMatch(new RegExp(`^  ${name} `, 'm'))
      expect(help).toContain(meaning)
      expect(page).toContain(`\`${name}\``)
      read.delete(name)
    }
    expect([...read]).toEqual(['npm_lifecycle_event'])
  })
})
