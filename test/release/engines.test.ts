import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, copyFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

import { createRedisBus } from '../../src/live/redis-bus.ts'
import { openStore } from '../../src/store/database/open-store.ts'
import { createLog } from '../../src/util/log.ts'
import { transportNames, transports } from '../server/transports.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { blocksOf } from '../support/docs.ts'
import { freePort } from '../support/free-port.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { havePgBouncer } from '../support/pgbouncer.ts'
import { havePostgres, startPostgres, type PostgresServer } from '../support/postgres-servers.ts'
import { haveRedis, startRedis } from '../support/redis.ts'
import { talkTo } from '../support/talk.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

// The configurations that docs/operation.md shows are used as they are, but for addresses and names.
const nginx = '/usr/sbin/nginx'
const haproxy = '/usr/sbin/haproxy'
const log = createLog('error')

async function shown(language: string): Promise<string> {
  const blocks = (await blocksOf('docs/operation.md')).filter((block) => block.language === language)
  expect(blocks).toHaveLength(1)
  return blocks[0]!.text
}

/** Starts a program until the end of the test. Resolves once something listens at the port. */
async function startProgram(file: string, args: readonly string[], port: number): Promise<void> {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let written = ''
  for (const output of [child.stdout, child.stderr]) output.on('data', (data) => (written += data))
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const listens = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('connect', () => resolve((socket.destroy(), true)))
      socket.on('error', () => resolve(false))
    })
  while (!(await listens())) {
    if (child.exitCode !== null) throw new Error(`${file} ended: ${written}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

describe('[OPS92] a proxy in front of two servers, as the documentation shows it', () => {
  let servers: TestApp[]
  beforeAll(async () => {
    const database = await createTestDatabase()
    servers = [await startTestApp({ database }), await startTestApp({ database })]
    return async () => {
      for (const server of servers) await server.stop()
      await database.close()
    }
  })

  async function withAddresses(text: string, port: number): Promise<string> {
    const [one, two] = servers.map(({ url }) => new URL(url).host)
    return text
      .replace('10.0.0.11:4000', one!)
      .replace('10.0.0.12:4000', two!)
      .replace(/\blisten 80;/, `listen 127.0.0.1:${port};`)
      .replace('bind :80', `bind 127.0.0.1:${port}`)
  }

  async function startNginx(text: string): Promise<string> {
    const port = await freePort()
    const folder = await makeTemporaryFolder()
    // Its processes run under another account.
    await chmod(folder, 0o777)
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    )
    const file = join(folder, 'nginx.conf')
    await writeFile(
      file,
      `daemon off; pid ${folder}/pid; error_log ${folder}/errors; events {}
      http { access_log off; ${paths.join(' ')}\n${await withAddresses(text, port)}\n}`,
    )
    await startProgram(nginx, ['-c', file, '-p', folder, '-e', join(folder, 'errors')], port)
    return `http://127.0.0.1:${port}/graphql`
  }

  async function useProxy(url: string): Promise<void> {
    const client = createGraphQLClient(url)
    const query = '{ agents(first: 1) { nodes { id } } }'
    for (const name of transportNames) {
      const { data, errors } = await transports[name](client, { query })
      expect([name, errors, data?.agents.nodes.length ?? 0]).toEqual([name, undefined, expect.any(Number)])
    }
    const talk = talkTo(client)
    const agent = await talk.createAgent({ model: 'demo/scripted' })
    const run = await talk.start(agent, `slow 5\nsay ${'word '.repeat(50)}`)
    const watch = talk.watch(run)
    await watch.until((line) => line.includes('Delta'), 3)
    await watch.ended
    // More than nginx allows by itself.
    const body = JSON.stringify({ query, extensions: { padding: 'x'.repeat(2_000_000) } })
    expect((await client.request('', {}, { body })).status).toBe(200)
    // A page of this address.
    const headers = { 'content-type': 'application/json', origin: new URL(url).origin }
    const page = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) })
    expect(page.status).toBe(200)
  }

  test.skipIf(!existsSync(nginx))('nginx', async () => {
    await useProxy(await startNginx(await shown('nginx')))
  })

  test.skipIf(!existsSync(nginx))('nginx without the headers for an upgrade: the answer names them', async () => {
    const url = await startNginx((await shown('nginx')).replaceAll(/.*proxy_set_header (Upgrade|Connection).*/g, ''))
    const handshake = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', upgrade: 'websocket', connection: 'Upgrade' }
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(
      `GET /graphql HTTP/1.1\r\nHost: localhost\r\n${Object.entries(handshake)
        .map((header) => header.join(': '))
        .join('\r\n')}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    )
    const [data] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(data.toString()).toMatch(/^HTTP\/1.1 426 /)
  })

  test.skipIf(!existsSync(haproxy))('HAProxy', async () => {
    const port = await freePort()
    const file = join(await makeTemporaryFolder(), 'haproxy.cfg')
    await writeFile(file, `${await withAddresses(await shown('haproxy'), port)}\n`)
    await startProgram(haproxy, ['-f', file, '-db'], port)
    await useProxy(`http://127.0.0.1:${port}/graphql`)
  })
})

test.skipIf(!haveRedis)('[OPS92] an account of Redis with the rights that the documentation shows', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.close())
  const [, ...rights] = (await shown('redis')).split(' ')
  await redis.command('acl', 'setuser', ...rights)
  const redisUrl = redis.url.replace('//', '//holdpoint:a-long-password@')
  const bus = await createRedisBus({ redisUrl, scope: 'test', address: '1', log: createLog('silent') })
  onTestFinished(() => bus.close())
  const heard: string[] = []
  await bus.open({ receive: (payload) => void heard.push(payload), connected() {} })
  await bus.send([
    { to: '1', payload: 'to itself' },
    { to: undefined, payload: 'to all' },
  ])
  await expect.poll(() => heard).toEqual(['to itself', 'to all'])
})

describe.skipIf(!havePostgres)('[OPS92] Postgres', () => {
  let postgres: PostgresServer
  beforeAll(async () => {
    const settings = (await shown('conf')).matchAll(/^(\w+) = '?([^'\n]*)'?$/gm)
    const all = Object.fromEntries([...settings].map(([, name, value]) => [name!, value!]))
    expect(Object.keys(all)).toHaveLength(5)
    // No standby is there yet, and the first statement would wait for one.
    const { synchronous_standby_names: standbys, ...others } = all
    expect(standbys).toBe('ANY 1 (standby1, standby2)')
    postgres = await startPostgres({ ...others, password_encryption: 'scram-sha-256' })
  })
  afterAll(() => postgres.kill())

  async function useDatabase(url: string, directUrl?: string): Promise<void> {
    const { database, close } = await openStore({ url, directUrl, dataDir: '', poolSize: 5, log })
    const app = await startTestApp({ database })
    const talk = talkTo(app)
    const run = await talk.start(await talk.createAgent({ model: 'demo/scripted' }), 'say hello')
    expect((await talk.settled(run, 'answer')).answer).toBe('hello')
    await app.stop()
    await close()
  }

  test('takes the settings for high availability', async () => {
    await postgres.execute("alter system set synchronous_standby_names = 'ANY 1 (standby1, standby2)'")
    await postgres.execute('alter system reset synchronous_standby_names')
    const [row] = await postgres.execute("select current_setting('tcp_keepalives_idle') as idle")
    expect(row.idle).toBe('10')
  })

  test.skipIf(!havePgBouncer)('behind PgBouncer in transaction mode', async () => {
    await postgres.execute("create role holdpoint_user login password 'password'")
    await postgres.execute('create database holdpoint owner holdpoint_user')
    const port = await freePort()
    const folder = await makeTemporaryFolder()
    const users = join(folder, 'userlist.txt')
    await writeFile(users, '"holdpoint_user" "password"\n')
    const file = join(folder, 'pgbouncer.ini')
    const server = new URL(postgres.url)
    const text = (await shown('ini'))
      .replace('host=10.0.0.5 port=5432', `host=127.0.0.1 port=${server.port}`)
      .replace('listen_addr = 0.0.0.0', 'listen_addr = 127.0.0.1')
      .replace('listen_port = 6432', `listen_port = ${port}`)
      .replace('/etc/pgbouncer/userlist.txt', users)
    await writeFile(file, `${text}\nunix_socket_dir =\n`)
    const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
    await startProgram('/usr/sbin/pgbouncer', [...user, file], port)
    const direct = `postgres://holdpoint_user:password@127.0.0.1:${server.port}/holdpoint`
    await useDatabase(direct.replace(`:${server.port}/`, `:${port}/`), direct)
  })

  test('over TLS, with a certificate that is verified', async () => {
    const { folder } = postgres
    const [key, certificate] = [join(folder, 'server.key'), join(folder, 'server.crt')]
    const made = spawn('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
      ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', certificate],
    ])
    await once(made, 'exit')
    await chmod(key, 0o600)
    await postgres.own(key)
    const authority = join(await makeTemporaryFolder(), 'postgres-ca.crt')
    await copyFile(certificate, authority)
    await postgres.execute('alter system set ssl = on')
    await postgres.execute('select pg_reload_conf()')
    await postgres.execute('create database encrypted')
    const url = `${postgres.url.replace(/postgres$/, 'encrypted')}?sslmode=verify-full&sslrootcert=${authority}`
    await useDatabase(url)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
    await client.end()
    expect(rows).toEqual([{ ssl: true }])
    // Another authority.
    const wrong = await openStore({
      ...{ url: url.replace(authority, join(folder, 'missing.crt')), directUrl: undefined, dataDir: '' },
      ...{ poolSize: 5, log },
    }).catch(String)
    expect(wrong).toContain('missing.crt')
  })
})
