import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'

import { findPostmaster } from '../src/store/database/embedded/postmaster-file.ts'
import type { OpenDatabase } from '../src/store/database/open-database.ts'
import { createEmptyDatabase, createTestDatabase } from './support/database.ts'
import { createGraphQLClient } from './support/graphql-client.ts'
import { spawnMain, type ServerProcess } from './support/server-process.ts'
import { approve, talkTo } from './support/talk.ts'
import { makeTemporaryFolder } from './support/temporary-folder.ts'

let folder: string
const processes: ServerProcess[] = []

beforeAll(async () => {
  folder = await makeTemporaryFolder()
})
afterEach(() => {
  for (const { child } of processes.splice(0)) child.kill('SIGKILL')
})
afterAll(async () => {
  const left = await postmaster()
  if (left !== undefined) process.kill(left.pid, 'SIGKILL')
})

const postmaster = () => findPostmaster(join(folder, 'postgres'))

function run(
  args: string[],
  env: Record<string, string> = {},
  options?: Parameters<typeof spawnMain>[2],
): ServerProcess {
  const started = spawnMain(args, { HOLDPOINT_DATA_DIR: folder, LOG_LEVEL: 'warn', ...env }, options)
  processes.push(started)
  return started
}

async function alive(url: string): Promise<boolean> {
  return (await fetch(new URL('/healthz', url))).ok
}

describe('the command line', () => {
  test('[CLI1] --help shows the commands and the environment, --version the version', async () => {
    const help = run(['--help'])
    expect(await help.ended).toMatchObject({ code: 0 })
    for (const word of ['serve', 'worker', 'migrate', 'keys', 'DATABASE_URL', 'HOLDPOINT_DRAIN_MS']) {
      expect(help.stdout()).toContain(word)
    }
    const version = run(['--version'])
    expect(await version.ended).toMatchObject({ code: 0 })
    expect(version.stdout()).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  test.each([
    [['sreve'], 'There is no command "sreve"'],
    [['--prot', '80'], "Unknown option '--prot'"],
    [['serve', 'now'], 'The command serve takes no argument, and "now" was given'],
  ])('[CLI2] a wrong command line gives one line and status 2: %j', async (args, line) => {
    const wrong = run(args)
    expect(await wrong.ended).toMatchObject({ code: 2 })
    expect(wrong.stderr()).toBe(`holdpoint: ${line}: see --help.\n`)
    expect(wrong.stdout()).toBe('')
  })

  test('[CLI3] migrate migrates a database and exits; migrate --check only says what is missing', async () => {
    const database = await createEmptyDatabase()
    const before = run(['migrate', '--check'], { DATABASE_URL: database.url })
    expect(await before.ended).toMatchObject({ code: 1 })
    expect(before.stdout()).toMatch(/^pending 0001_\S+ 0002_.*\n$/)
    const first = run(['migrate'], { DATABASE_URL: database.url })
    expect(await first.ended).toMatchObject({ code: 0 })
    expect(first.stdout()).toMatch(/^migrated 0001_/)
    const after = run(['migrate', '--check'], { DATABASE_URL: database.url })
    expect(await after.ended).toMatchObject({ code: 0 })
    expect(after.stdout()).toBe('up to date\n')
    const second = run(['migrate'], { DATABASE_URL: database.url })
    expect(await second.ended).toMatchObject({ code: 0 })
    expect(second.stdout()).toBe('up to date\n')
    await database.pool.query("insert into kysely_migration values ('9999_new', now()::text)")
    for (const args of [['migrate', '--check'], ['serve']]) {
      const newer = run(args, { DATABASE_URL: database.url })
      expect(await newer.ended).toMatchObject({ code: 1 })
      expect(newer.stderr()).toMatch(/^holdpoint: The database was migrated by a newer version of Holdpoint [^\n]+\n$/)
    }
    await database.close()
  })
})

describe('[CLI4] a start that fails prints one line and exits with status 1', () => {
  async function failure(env: Record<string, string>): Promise<string> {
    const failed = run([], env)
    expect(await failed.ended).toMatchObject({ code: 1 })
    expect(failed.stdout()).toBe('')
    expect(failed.stderr()).toMatch(/^holdpoint: [^\n]+\n$/)
    return failed.stderr()
  }

  test('a bad value', async () => {
    expect(await failure({ HOLDPOINT_WORKERS: 'many' })).toContain('HOLDPOINT_WORKERS is "many"')
  })

  test('[CFG4] an open address without a key', async () => {
    expect(await failure({ HOST: '0.0.0.0' })).toContain('HOLDPOINT_API_KEY')
  })

  test('a wrong password', async () => {
    const url = new URL(inject('postgres').url)
    url.password = 'wrong'
    expect(await failure({ DATABASE_URL: url.href })).toContain('refused the user "holdpoint"')
  })

  test('a data folder that cannot be written', async () => {
    expect(await failure({ HOLDPOINT_DATA_DIR: '/dev/null/holdpoint' })).toContain('cannot be written')
  })

  test('a port in use, and nothing is left running', async () => {
    const other = createServer()
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    expect(await failure({ PORT: String(port) })).toContain(`Port ${port} on 127.0.0.1 is in use`)
    expect(await postmaster()).toBeUndefined()
    other.close()
  })
})

describe('keys', () => {
  let database: OpenDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.close())

  test('[KEY7] keys create prints the secret alone on the last line, and keys list and revoke show the key', async () => {
    const env = { DATABASE_URL: database.url }
    const keys = async (...args: string[]) => {
      const command = run(['keys', ...args], env)
      expect(await command.ended).toMatchObject({ code: 0 })
      return command.stdout().trimEnd().split('\n')
    }
    const created = await keys('create', '--name', 'ci', '--scopes', 'read,RUN', '--tenant', 'acme')
    const secret = created.at(-1)!
    expect(secret).toMatch(/^hp_[\w-]{43}$/)
    const [listed] = await keys('list', '--tenant', 'acme')
    expect(listed).toMatch(/^key_\w+ {2}ci {2}READ,RUN {2}never used$/)
    expect(await keys('list')).toEqual([''])

    // Others can reach this address, which is fine because there is a key.
    const server = run([], { ...env, HOST: '0.0.0.0' })
    const url = (await server.ready()).replace('0.0.0.0', '127.0.0.1')
    const client = createGraphQLClient(url, { authorization: `Bearer ${secret}` })
    expect((await client.data('{ viewer { actor { name } } tools { nodes { name } } }')).viewer.actor.name).toBe('ci')
    expect((await createGraphQLClient(url).request('{ viewer { tenantId } }')).status).toBe(401)
    const [revoked] = await keys('revoke', listed!.split(' ')[0]!, '--tenant', 'acme')
    expect(revoked).toContain('revoked')
    expect((await client.request('{ viewer { tenantId } }')).status).toBe(401)
  })

  test('[KEY62] keys create that cannot succeed changes nothing: with another HOLDPOINT_SECRET_KEY, a bad scope, time, name or tenant. Nor do keys list and keys revoke of an unknown tenant', async () => {
    const encrypted = await createTestDatabase()
    onTestFinished(() => encrypted.close())
    const [right, wrong] = [1, 2].map(() => ({ HOLDPOINT_SECRET_KEY: randomBytes(32).toString('base64') }))
    const keys = (args: string[], env: Record<string, string> = right!) =>
      run(['keys', ...args], { DATABASE_URL: encrypted.url, ...env })
    const create = ['create', '--tenant', 'acme', '--name', 'ci', '--scopes', 'READ']
    expect(await keys(['list']).ended).toMatchObject({ code: 0 })
    const failures = [
      keys(create, wrong),
      keys(create, {}),
      keys([...create, '--scopes', 'WRITE']),
      keys([...create, '--expires', 'soon']),
      keys([...create, '--expires', '2020-01-01T00:00:00Z']),
      keys([...create, '--name', 'x'.repeat(201)]),
      keys([...create, '--tenant', ' ']),
      keys([...create, '--tenant', 'x'.repeat(201)]),
      keys(['list', '--tenant', 'acme']),
      keys(['revoke', 'key_00000000000000000000000000000000', '--tenant', 'acme']),
    ]
    for (const failed of failures) {
      expect(await failed.ended).toMatchObject({ code: 1 })
      expect(failed.stderr()).toMatch(/^holdpoint: [^\n]+\n$/)
    }
    const { rows } = await encrypted.pool.query('select name from tenants union all select name from api_keys')
    expect(rows).toEqual([{ name: 'default' }])
    expect(await keys(create).ended).toMatchObject({ code: 0 })
  })

  test.each([
    [['keys', 'create', '--scopes', 'READ'], 2, 'The command keys create needs --name NAME'],
    [['keys', 'create', '--name', 'x'], 2, 'The command keys create needs --scopes'],
    [['keys', 'drop'], 2, 'The command keys needs one of'],
    [['keys', 'create', '--name', 'x', '--scopes', 'WRITE'], 1, 'There is no scope "WRITE": use READ, RUN'],
    [['keys', 'revoke', 'key_1'], 1, 'There is no API key with the id key_1'],
  ])('[KEY7] a wrong command gives one line: %j', async (args, code, line) => {
    const wrong = run(args, { DATABASE_URL: database.url })
    expect(await wrong.ended).toMatchObject({ code })
    expect(wrong.stderr()).toContain(line)
    expect(wrong.stderr()).toMatch(/^holdpoint: [^\n]+\n$/)
  })
})

describe('serve', () => {
  test('[CLI5] prints one line when ready, and after SIGTERM ends by itself with status 0, together with Postgres; [CLI6] starts again after kill -9; [OPS61] a copy of the data folder of a stopped server is served elsewhere, and what waited continues', async () => {
    const killed = run([])
    await killed.ready()
    killed.child.kill('SIGKILL')
    await killed.ended
    const server = run([])
    const url = await server.ready()
    expect(await alive(url)).toBe(true)
    expect(server.stdout()).toMatch(/^ready http:\/\/127\.0\.0\.1:\d+\/graphql\n$/)
    expect(server.stderr()).toContain('HOLDPOINT_API_KEY')
    const talk = talkTo(createGraphQLClient(url))
    const agent = await talk.createAgent({
      model: 'demo/scripted',
      tools: [{ name: 'conversation_search', approvalOverride: true }],
    })
    const waiting = await talk.start(agent, 'call conversation_search {"query": "x"}')
    await talk.pending(waiting)
    const behind = await talk.start(agent, 'and then', { whenBusy: 'ENQUEUE' })
    server.child.kill('SIGTERM')
    expect(await server.ended).toEqual({ code: 0, signal: null })
    expect(server.stderr()).not.toContain('still open')
    expect(server.stdout().split('\n')).toHaveLength(2)
    expect(await postmaster()).toBeUndefined()

    const copy = join(await makeTemporaryFolder(), 'copy')
    execFileSync('cp', ['-a', folder, copy])
    const elsewhere = run([], { HOLDPOINT_DATA_DIR: copy })
    const there = talkTo(createGraphQLClient(await elsewhere.ready()))
    const [call] = await there.pending(waiting)
    await there.submit(waiting, [approve(call)])
    for (const id of [waiting, behind]) expect(await there.settled(id)).toMatchObject({ status: 'COMPLETED' })
    elsewhere.child.kill('SIGTERM')
    expect(await elsewhere.ended).toMatchObject({ code: 0 })
  })

  test('[CLI7] two processes share the embedded Postgres, and the last one to stop stops it; [CLI8] Ctrl-C is one request, although npm forwards the signal again; [CLI10] worker drives runs without an API', async () => {
    const server = run([], { HOLDPOINT_WORKERS: '0' }, { detached: true })
    const worker = run(['worker'])
    const [url, address] = await Promise.all([server.ready(), worker.ready()])
    expect(address).toBe('worker')
    const talk = talkTo(createGraphQLClient(url))
    const sent = await talk.start(await talk.createAgent({ model: 'demo/scripted' }), 'hello')
    expect(await talk.settled(sent)).toMatchObject({ status: 'COMPLETED' })
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0 })
    expect(await alive(url)).toBe(true)
    expect(await postmaster()).toBeDefined()
    process.kill(-server.child.pid!, 'SIGINT')
    server.child.kill('SIGINT')
    expect(await server.ended).toEqual({ code: 0, signal: null })
    expect(await postmaster()).toBeUndefined()
  })

  test('[CLI9] under npm, the end of the parent process is a request to stop', async () => {
    const server = run([], { npm_lifecycle_event: 'start' }, { shell: '"$NODE" "$MAIN" & wait' })
    await server.ready()
    server.child.kill('SIGKILL')
    // Settles when the server itself, which has the other end of its output, has ended.
    await server.ended
    expect(await postmaster()).toBeUndefined()
  })

  test('[CLI11] outlives a rejected promise that nothing handles, and shuts down after an uncaught exception', async () => {
    const tools = join(folder, 'faulty.mjs')
    await writeFile(
      tools,
      `process.on('SIGUSR2', () => void Promise.reject(new Error('forgotten')))
      process.on('SIGPIPE', () => { throw new Error('uncaught') })
      export const tool = { name: 'faulty', description: '', parameters: { type: 'object' }, run() {} }`,
    )
    const server = run([], { HOLDPOINT_TOOLS: tools })
    const url = await server.ready()
    server.child.kill('SIGUSR2')
    await expect.poll(server.stderr, { timeout: 10_000 }).toContain('forgotten')
    expect(server.stderr()).toMatch(/"errorId":"[\w-]{36}".*"a promise was rejected and not handled"/)
    expect(await alive(url)).toBe(true)
    server.child.kill('SIGPIPE')
    expect(await server.ended).toEqual({ code: 1, signal: null })
    expect(server.stderr()).toMatch(/"errorId":"[\w-]{36}".*"an exception was thrown and not caught"/)
    expect(await postmaster()).toBeUndefined()
  })
})
