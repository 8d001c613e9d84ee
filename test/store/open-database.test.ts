import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'

import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'

import { isWritable, openDatabase, type OpenDatabase } from '../../src/store/database/open-database.ts'
import { openStore } from '../../src/store/database/open-store.ts'
import { createLog } from '../../src/util/log.ts'
import { StartError } from '../../src/util/start-error.ts'
import { captureLog } from '../support/captured-log.ts'
import { createEmptyDatabase, createTestDatabase } from '../support/database.ts'
import { havePgBouncer, ignoredParameters, startPgBouncer } from '../support/pgbouncer.ts'

const log = createLog('silent')
const storeOptions = { dataDir: '', poolSize: 5, log }

async function failToOpen(url: string): Promise<string> {
  const error = await openDatabase(url, { log }).then(
    (database) => database.close(),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StartError)
  const { message } = error as StartError
  expect(message).not.toContain('\n')
  return message
}

describe('a database that can be opened', () => {
  let database: OpenDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.close())

  test('[DB1] counts and 64-bit columns become numbers, and a value that does not fit is an error', async () => {
    const { rows } = await database.pool.query(
      'select count(*) as n, 9007199254740991::int8 as most from generate_series(1, 3)',
    )
    expect(rows).toEqual([{ n: 3, most: 9007199254740991 }])
    await expect(database.pool.query('select 9007199254740993::int8 as n')).rejects.toThrow('too large')
  })

  test('[DB2] the pool replaces a connection that the server ends', async () => {
    const { rows } = await database.pool.query<{ pid: number }>('select pg_backend_pid() as pid')
    const other = await openDatabase(database.url, { log, poolSize: 1 })
    // The end of the connection may arrive after the answer to who asked for it.
    const removed = new Promise((resolve) => void database.pool.once('remove', resolve))
    await other.pool.query('select pg_terminate_backend($1, 5000)', [rows[0]?.pid])
    await other.close()
    await removed
    const again = await database.pool.query("select current_setting('application_name') as name")
    expect(again.rows).toEqual([{ name: 'holdpoint' }])
  })

  test('[DB3] may be closed twice', async () => {
    const other = await openDatabase(database.url, { log })
    await Promise.all([other.close(), other.close()])
    await other.close()
  })
})

describe('[DB5] whether a database can be written to', () => {
  let database: OpenDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.close())

  test('it can', async () => {
    expect(await isWritable(database.pool)).toBe(true)
    // The settings of the probe do not affect other statements.
    const { rows } = await database.pool.query("select current_setting('work_mem') as memory")
    expect(rows[0].memory).not.toBe('64kB')
  })

  test('the probe needs space on the disk', async () => {
    const client = await database.pool.connect()
    await client.query("set log_temp_files = 0; set client_min_messages = 'log'")
    const notices: (string | undefined)[] = []
    client.on('notice', ({ message }) => notices.push(message))
    await isWritable({ query: client.query.bind(client) } as never)
    expect(notices).toContainEqual(expect.stringMatching(/^temporary file: .* size \d{5,}$/))
    client.release(true)
  })

  test('it is read-only', async () => {
    const name = new URL(database.url).pathname.slice(1)
    await database.pool.query(`alter database ${name} set default_transaction_read_only = on`)
    const late = await openDatabase(database.url, { log })
    expect(await isWritable(late.pool)).toBe(false)
    await late.close()
  })

  test('it is gone', async () => {
    const gone = await openDatabase(inject('postgres').url, { log })
    await gone.close()
    await expect(isWritable(gone.pool)).rejects.toThrow()
  })
})

describe('[DB6] a process at the limit of connections goes on with those that it has', () => {
  test('requests wait for one of them, and none fails', async () => {
    const database = await createTestDatabase()
    await database.pool.query("create role limited login password 'limited' connection limit 3")
    const url = new URL(database.url)
    ;[url.username, url.password] = ['limited', 'limited']
    const captured = captureLog()
    const limited = await openDatabase(url.href, { log: captured.log, poolSize: 10 })
    const answers = Array.from({ length: 60 }, (_, n) => limited.pool.query('select $1::int as n, pg_sleep(0.01)', [n]))
    expect((await Promise.all(answers)).map(({ rows }) => rows[0].n)).toEqual(answers.map((_, n) => n))
    expect(limited.pool.totalCount).toBeLessThanOrEqual(3)
    expect(captured.lines[0]).toMatchObject({
      msg: 'Postgres gives this process no more connections; going on with these',
    })
    // A process that has none waits for the first.
    const other = openDatabase(url.href, { log, poolSize: 2 })
    await new Promise((resolve) => setTimeout(resolve, 200))
    await limited.close()
    await (await other).close()
    await database.pool.query('drop role limited')
    await database.close()
  })
})

describe('[DB4] a database that cannot be opened gives one line that names the fault and the remedy', () => {
  let server: Server | undefined
  afterEach(() => server?.close())

  test('a wrong password, which is not shown', async () => {
    const url = new URL(inject('postgres').url)
    url.password = 'not-this-one'
    const message = await failToOpen(url.href)
    expect(message).toContain(`Postgres at ${url.host} refused the user "holdpoint"`)
    expect(message).toContain('DATABASE_URL')
    expect(message).not.toContain('not-this-one')
  })

  test('no password where one is needed', async () => {
    const url = new URL(inject('postgres').url)
    url.password = ''
    expect(await failToOpen(url.href)).toContain('asks for a password for "holdpoint"')
  })

  test('a database that is not there', async () => {
    const url = new URL(inject('postgres').url)
    url.pathname = '/nowhere'
    expect(await failToOpen(url.href)).toBe(
      `Postgres at ${url.host} has no database "nowhere": create it, or correct the name in DATABASE_URL.`,
    )
  })

  test('nobody listening', async () => {
    const { port, close } = await listen(() => {})
    await close()
    const message = await failToOpen(`postgres://u:p@127.0.0.1:${port}/x`)
    expect(message).toBe(
      `No Postgres can be reached at 127.0.0.1:${port} (ECONNREFUSED): start it, or correct DATABASE_URL.`,
    )
  })

  test('a host name that does not exist', async () => {
    expect(await failToOpen('postgres://u:p@nowhere.invalid/x')).toMatch(
      /^No Postgres can be reached at nowhere.invalid:5432 \((ENOTFOUND|EAI_AGAIN)\)/,
    )
  })

  test('something that is not Postgres', async () => {
    const { port } = await listen((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    expect(await failToOpen(`postgres://u:p@127.0.0.1:${port}/x`)).toContain(`at 127.0.0.1:${port}`)
  })

  test('a Postgres older than 14', async () => {
    const { port } = await listen(answerAs(['130011', '13.11', 'f']))
    expect(await failToOpen(`postgres://u:p@127.0.0.1:${port}/x`)).toBe(
      `Postgres at 127.0.0.1:${port} is version 13.11, and Holdpoint needs 14 or later: upgrade it, or set DATABASE_URL to a newer one.`,
    )
  })

  test('a standby', async () => {
    const { port } = await listen(answerAs(['150004', '15.4', 't']))
    expect(await failToOpen(`postgres://u:p@127.0.0.1:${port}/x`)).toContain('read-only standby')
  })

  test('PgBouncer, which refuses a setting of the connection', async () => {
    const { port } = await listen((socket) => {
      const fields = [`SFATAL`, `C08P01`, `Munsupported startup parameter: idle_in_transaction_session_timeout`]
      socket.once('data', () => socket.end(message('E', ...fields.map(text), Buffer.from([0]))))
    })
    const line = await failToOpen(`postgres://u:p@127.0.0.1:${port}/x`)
    expect(line).toContain(`At 127.0.0.1:${port} there is a connection pooler (unsupported startup parameter`)
    expect(line).toContain(
      'set DATABASE_DIRECT_URL to the same database without the pooler, or set pool_mode = session',
    )
  })

  describe.runIf(havePgBouncer)('PgBouncer', () => {
    test('in transaction mode', async () => {
      const url = await startPgBouncer('transaction')
      expect(await failToOpen(url)).toBe(
        `At ${new URL(url).host} there is a connection pooler in transaction mode, such as PgBouncer, and Holdpoint needs a few sessions of its own: set DATABASE_DIRECT_URL to the same database without the pooler, or set pool_mode = session.`,
      )
    })

    test('in transaction mode that gives sessions in turn, or is busy', async () => {
      const url = await startPgBouncer('transaction', { settings: `${ignoredParameters}\nserver_round_robin = 1` })
      // Enough open sessions that each transaction gets another one than the last.
      const others = await openSessions(url, 4)
      expect(await failToOpen(url)).toContain('set DATABASE_DIRECT_URL')
      let isBusy = true
      const work = others.map(async (client) => {
        while (isBusy) await client.query('select pg_sleep(0.001)')
      })
      expect(await failToOpen(url)).toContain('set DATABASE_DIRECT_URL')
      isBusy = false
      await Promise.all(work)
    })

    test('in transaction mode, also as the direct address', async () => {
      const url = await startPgBouncer('transaction')
      const message = await openStore({ ...storeOptions, url, directUrl: `${url}?application_name=direct` }).catch(
        String,
      )
      expect(message).toContain('DATABASE_DIRECT_URL needs a session for each connection: set it to Postgres itself')
    })

    test('in front of another database than the direct one', async () => {
      const [one, two] = [await createEmptyDatabase(), await createEmptyDatabase()]
      const url = await startPgBouncer('transaction', { database: one.url })
      const message = await openStore({ ...storeOptions, url, directUrl: two.url }).catch(String)
      await Promise.all([one.close(), two.close()])
      expect(message).toContain('DATABASE_URL and DATABASE_DIRECT_URL lead to different databases')
    })

    test('in statement mode', async () => {
      expect(await failToOpen(await startPgBouncer('statement'))).toContain('set pool_mode = session')
    })

    test('in session mode it is opened', async () => {
      const database = await openDatabase(await startPgBouncer('session'), { log })
      expect(await isWritable(database.pool)).toBe(true)
      await database.close()
    })
  })

  async function listen(onConnection: (socket: Socket) => void) {
    const listening = createServer(onConnection)
    server = listening
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
    const { port } = listening.address() as AddressInfo
    return { port, close: () => new Promise((resolve) => listening.close(resolve)) }
  }
})

/** Connections that are in a transaction at the same time, so that a pooler opens a session for each. */
async function openSessions(url: string, count: number): Promise<pg.Client[]> {
  const clients = Array.from({ length: count }, () => new pg.Client({ connectionString: url }))
  await Promise.all(clients.map((client) => client.connect()))
  onTestFinished(async () => void (await Promise.all(clients.map((client) => client.end()))))
  await Promise.all(clients.map((client) => client.query('begin')))
  await Promise.all(clients.map((client) => client.query('commit')))
  return clients
}

/** Just enough of Postgres's protocol to answer one simple query with one row. */
function answerAs([number, version, standby]: [string, string, string]) {
  const columns = [
    ['number', number, 25],
    ['version', version, 25],
    ['standby', standby, 16],
  ] as const
  const ready = message('Z', Buffer.from('I'))
  const described = columns.map(([name, , type]) =>
    Buffer.concat([text(name), int32(0), int16(0), int32(type), int16(-1), int32(-1), int16(0)]),
  )
  const values = columns.map(([, value]) => Buffer.concat([int32(value.length), Buffer.from(value)]))
  return (socket: Socket) => {
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', int32(0)), ready]))
      socket.on('data', (data) => {
        if (data[0] !== 'Q'.charCodeAt(0)) return socket.end()
        const row = [message('T', int16(3), ...described), message('D', int16(3), ...values)]
        return socket.write(Buffer.concat([...row, message('C', text('SELECT 1')), ready]))
      })
    })
  }
}

function message(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeInt32BE(value)
  return buffer
}

function int16(value: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeInt16BE(value)
  return buffer
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`)
}
