import { describe, expect, test } from 'vitest'

import { readConfig, type Environment } from '../src/config.ts'
import { StartError } from '../src/util/start-error.ts'

describe('readConfig', () => {
  test('[CFG1] an empty environment gives the documented defaults, frozen', () => {
    const config = readConfig({})
    expect(config).toEqual({
      host: '127.0.0.1',
      port: 4000,
      databaseUrl: undefined,
      dataDir: `${process.cwd()}/.holdpoint`,
      redisUrl: undefined,
      workers: 64,
      apiKey: undefined,
      allowedOrigins: [],
      openai: { apiKey: undefined, baseUrl: undefined },
      openaiChat: { apiKey: undefined, baseUrl: undefined },
      anthropic: { apiKey: undefined, baseUrl: undefined },
      allowPrivateNetwork: false,
      logLevel: 'info',
      otlpEndpoint: undefined,
      toolGraceMs: 5_000,
      drainMs: 10_000,
      modelIdleMs: 600_000,
      underNpm: false,
    })
    expect(Object.isFrozen(config) && Object.isFrozen(config.openaiChat)).toBe(true)
    expect(readConfig({ PORT: '', DATABASE_URL: '', LOG_LEVEL: '' })).toEqual(config)
  })

  test('[CFG2] Chat Completions takes what OpenAI has unless it is told otherwise', () => {
    const openai = { OPENAI_API_KEY: 'k1', OPENAI_BASE_URL: 'http://one.test/v1' }
    expect(readConfig(openai).openaiChat).toEqual({ apiKey: 'k1', baseUrl: 'http://one.test/v1' })
    const chat = { OPENAI_CHAT_API_KEY: 'k2', OPENAI_CHAT_BASE_URL: 'http://two.test' }
    expect(readConfig({ ...openai, ...chat }).openaiChat).toEqual({ apiKey: 'k2', baseUrl: 'http://two.test' })
  })

  test.each<[Environment, string]>([
    [{ PORT: 'http' }, 'PORT is "http", and takes a whole number from 0 to 65535.'],
    [{ PORT: '65536' }, 'PORT is "65536", and takes a whole number from 0 to 65535.'],
    [{ HOST: 'my host' }, 'HOST is "my host", and takes an IP address or a host name.'],
    [
      { DATABASE_URL: 'mysql://u:secret@h/d' },
      'DATABASE_URL is "mysql://u:***@h/d", and takes an address that begins with postgres:// or postgresql://.',
    ],
    [
      { DATABASE_URL: 'mysql://u:sec@ret@h/d' },
      'DATABASE_URL is "mysql://u:***@h/d", and takes an address that begins with postgres:// or postgresql://.',
    ],
    [
      { REDIS_URL: 'localhost:6379' },
      'REDIS_URL is "localhost:6379", and takes an address that begins with redis:// or rediss://.',
    ],
    [{ HOLDPOINT_WORKERS: '-1' }, 'HOLDPOINT_WORKERS is "-1", and takes a whole number from 0 to 10000.'],
    [
      { HOLDPOINT_API_KEY: 'my key' },
      'HOLDPOINT_API_KEY is "***", and takes a key of printable characters without spaces.',
    ],
    [{ OPENAI_BASE_URL: 'x' }, 'OPENAI_BASE_URL is "x", and takes an address that begins with http:// or https://.'],
    [{ HOLDPOINT_ALLOW_PRIVATE_NETWORK: 'yes' }, 'HOLDPOINT_ALLOW_PRIVATE_NETWORK is "yes", and takes one of 0, 1.'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL is "loud", and takes one of trace, debug, info, warn, error, fatal, silent.'],
    ...['*', 'app.example', 'https://app.example/path', 'ftp://app.example'].map((origin): [Environment, string] => [
      { HOLDPOINT_ALLOWED_ORIGINS: `https://good.example, ${origin}` },
      `HOLDPOINT_ALLOWED_ORIGINS is "${origin}", and takes origins such as https://app.example.com, separated by commas.`,
    ]),
    [{ HOLDPOINT_DRAIN_MS: '1.5' }, 'HOLDPOINT_DRAIN_MS is "1.5", and takes a whole number from 0 to 3600000.'],
  ])('[CFG3] a bad value is told with the variable, the value and what it takes: %j', (env, line) => {
    expect(() => readConfig(env)).toThrow(new StartError(line))
  })

  test('[CFG5] allowed origins are separated by commas, and a final slash is left out', () => {
    const { allowedOrigins } = readConfig({ HOLDPOINT_ALLOWED_ORIGINS: 'https://one.example/, http://localhost:5173,' })
    expect(allowedOrigins).toEqual(['https://one.example', 'http://localhost:5173'])
  })

  test('[CFG4] an address that others can reach needs a key', () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.4', 'example.com']) {
      expect(() => readConfig({ HOST: host })).toThrow(/HOLDPOINT_API_KEY/)
      expect(readConfig({ HOST: host, HOLDPOINT_API_KEY: 'hp_key' }).host).toBe(host)
    }
    for (const host of ['127.0.0.1', '127.8.8.8', '::1', 'localhost'])
      expect(readConfig({ HOST: host }).host).toBe(host)
  })
})
