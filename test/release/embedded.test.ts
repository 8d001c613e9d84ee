import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, lstat, mkdir, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { isRoot } from '../../src/store/database/embedded/account.ts'
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/store/database/embedded/launch.ts'
import { findPostmaster } from '../../src/store/database/embedded/postmaster-file.ts'
import { createLog } from '../../src/util/log.ts'
import { StartError } from '../../src/util/start-error.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const log = createLog('error')
const settings = { fsync: 'off' }

let folder: string
const started: EmbeddedPostgres[] = []
const children: ChildProcess[] = []

async function makeFolder(): Promise<void> {
  folder = await makeTemporaryFolder()
}

async function killServer(): Promise<void> {
  const left = await findPostmaster(join(folder, 'postgres'))
  if (left !== undefined) process.kill(left.pid, 'SIGKILL')
}

async function stopAll(): Promise<void> {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await Promise.all(started.splice(0).map((postgres) => postgres.stop()))
}

async function start(dataDir = folder): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, log, settings, outsideFolder: `${folder}/outside` })
  started.push(postgres)
  return postgres
}

async function query<T extends pg.QueryResultRow>(url: string, statement: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<T>(statement)).rows
  } finally {
    await client.end()
  }
}

async function startInOtherProcess(): Promise<{ child: ChildProcess; url: string; leave(): Promise<void> }> {
  const child = spawn(process.execPath, ['test/support/embedded-user.ts', folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  const leave = async () => {
    child.stdin.end()
    const [code] = await once(child, 'exit')
    expect(code).toBe(0)
  }
  return { child, url, leave }
}

const postmaster = () => findPostmaster(join(folder, 'postgres'))

async function startError(dataDir?: string): Promise<string> {
  const error = await start(dataDir).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StartError)
  expect((error as StartError).message).not.toContain('\n')
  return (error as StartError).message
}

async function untilDefined<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    await sleep(20)
  }
}

describe('on one data folder', () => {
  beforeAll(makeFolder)
  afterEach(stopAll)
  afterAll(killServer)

  test('[EMB5] processes that start at once on an empty folder share one server, and the last one to stop stops it; [EMB1] the first start creates the database, the next finds the stored data, and a stop leaves no server', async () => {
    // Each of the two makes a cluster, and one of these is kept.
    const [first, second] = await Promise.all([startInOtherProcess(), startInOtherProcess()])
    const third = await start()
    expect([second.url, third.url]).toEqual([first.url, first.url])
    const server = await postmaster()
    await query(first.url, 'create table kept as select 42 as answer')
    await first.leave()
    await second.leave()
    expect(await postmaster()).toEqual(server)
    expect(await query(third.url, 'select answer from kept')).toEqual([{ answer: 42 }])
    await third.stop()
    await third.stop()
    expect(await postmaster()).toBeUndefined()

    const next = await start()
    expect(await query(next.url, 'select answer from kept')).toEqual([{ answer: 42 }])
  })

  test('[EMB2] other accounts of the machine can reach the port, but nobody gets in without the password', async () => {
    const { url, folder: cluster } = await start()
    const noPassword = new URL(url)
    noPassword.password = 'guessed'
    await expect(query(noPassword.href, 'select 1')).rejects.toMatchObject({ code: '28P01' })
    const [role] = await query<{ password: string }>(
      url,
      'select rolpassword as password from pg_authid where rolpassword is not null',
    )
    expect(role?.password).toMatch(/^SCRAM-SHA-256\$1:/)
    expect((await lstat(cluster)).mode & 0o777).toBe(0o700)
    expect((await lstat(join(cluster, 'holdpoint.password'))).mode & 0o777).toBe(0o600)
  })

  test('[EMB3] acknowledged commits are flushed to the disk unless a caller says otherwise', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir: folder, log })
    started.push(postgres)
    expect(await query(postgres.url, 'show fsync')).toEqual([{ fsync: 'on' }])
    expect(await query(postgres.url, 'show synchronous_commit')).toEqual([{ synchronous_commit: 'on' }])
  })

  test('[EMB4] the server of a process that was killed is found and used', async () => {
    const killed = await startInOtherProcess()
    const before = await postmaster()
    killed.child.kill('SIGKILL')
    await once(killed.child, 'exit')
    const next = await start()
    expect(await postmaster()).toEqual(before)
    expect(next.url).toBe(killed.url)
    // The lock of the dead process is gone with it, so we are the last user.
    await next.stop()
    expect(await postmaster()).toBeUndefined()
  })

  test('[EMB6] a process that starts while another stops has a server for as long as it runs', async () => {
    await (await start()).stop()
    const comeAndGo = async (user: number) => {
      for (let round = 0; round < 3; round++) {
        const postgres = await start()
        expect(await query(postgres.url, `select ${user} as user, pg_sleep(${0.01 * user})`)).toHaveLength(1)
        await postgres.stop()
      }
    }
    await Promise.all([1, 2, 3].map(comeAndGo))
    expect(await postmaster()).toBeUndefined()
  }, 60_000)

  test('[EMB7] a server that dies is started again on the same port', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir: folder, log: createLog('silent'), settings })
    started.push(postgres)
    const dead = (await postmaster())!
    process.kill(dead.pid, 'SIGKILL')
    const back = await untilDefined(() => query(postgres.url, 'select 1 as one').catch(() => undefined))
    expect(back).toEqual([{ one: 1 }])
    expect((await postmaster())?.pid).not.toBe(dead.pid)
  })

  test('[EMB8] a postmaster.pid whose process id now belongs to another program does not prevent the start', async () => {
    const first = await start()
    const file = join(first.folder, 'postmaster.pid')
    const content = await readFile(file, 'utf8')
    await first.stop()
    await writeFile(file, content.replace(/^\d+/, String(process.pid)))
    const second = await start()
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  test('[EMB9] Postgres runs in its own session, which Ctrl-C does not reach', async () => {
    await start()
    const { pid } = (await postmaster())!
    const groupOf = (process: number) =>
      execFileSync('ps', ['-o', 'pgid=', '-p', String(process)])
        .toString()
        .trim()
    expect(groupOf(pid)).toBe(String(pid))
  })

  // The last one, because it breaks the cluster.
  test('[EMB11] a cluster that Postgres refuses fails the start with one line', async () => {
    const { folder: cluster, stop } = await start()
    await stop()
    await rm(join(cluster, 'global', 'pg_control'))
    expect(await startError()).toMatch(/^Postgres does not start on .*postgres.log\)\.$/)
  })
})

describe('on a fresh data folder', () => {
  beforeEach(makeFolder)
  afterEach(async () => {
    await stopAll()
    await killServer()
  })

  test('[EMB13] Git sees nothing of a data folder that the server made in a repository', async () => {
    const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args]).toString()
    git('init', '--quiet')
    await start(join(folder, '.holdpoint'))
    expect(git('status', '--porcelain', '--untracked-files=all')).toBe('')
    git('add', '-A')
    expect(git('ls-files')).toBe('')
  })

  test('[EMB10] a data folder of a version that is not at hand fails the start with one line', async () => {
    await mkdir(join(folder, 'postgres'))
    await writeFile(join(folder, 'postgres', 'PG_VERSION'), '9.6\n')
    const message = await startError()
    expect(message).toContain('postgres was made by Postgres 9, which is not at hand')
    expect(message).toContain('install Postgres 9, set DATABASE_URL, or set HOLDPOINT_DATA_DIR')
  })

  describe('[EMB11] a data folder that cannot be used fails the start with one line', () => {
    test('a file where the folder should be', async () => {
      const file = join(folder, 'a-file')
      await writeFile(file, '')
      expect(await startError(file)).toBe(
        `The data folder ${file} cannot be written (EEXIST): make it writable, or set HOLDPOINT_DATA_DIR to another folder.`,
      )
    })

    test.runIf(!isRoot())('a folder without the right to write', async () => {
      await chmod(folder, 0o555)
      expect(await startError()).toContain('cannot be written (EACCES)')
      await chmod(folder, 0o755)
    })

    test('a folder that holds something else', async () => {
      await mkdir(join(folder, 'postgres'))
      await writeFile(join(folder, 'postgres', 'letter.txt'), 'Dear …')
      expect(await startError()).toContain('Is there something else in that folder?')
      expect(await readdir(folder, { recursive: true })).toEqual(['postgres', 'postgres/letter.txt'])
    })

    test('a file where the database should be', async () => {
      await writeFile(join(folder, 'postgres'), 'Dear …')
      expect(await startError()).toContain(`${join(folder, 'postgres')} cannot be read (ENOTDIR)`)
    })
  })

  describe.runIf(isRoot())('[EMB12] as root, below a folder that nobody else can enter', () => {
    test('the database is put outside, linked to, and found again, also after the folder was opened', async () => {
      const closed = join(folder, 'closed')
      await mkdir(closed, { mode: 0o700 })
      const dataDir = join(closed, '.holdpoint')
      const first = await start(dataDir)
      expect(first.folder.startsWith(`${await realpath(folder)}/outside/closed-`)).toBe(true)
      expect(await realpath(join(dataDir, 'postgres'))).toBe(first.folder)
      await query(first.url, 'create table kept as select 42 as answer')
      await first.stop()
      await chmod(closed, 0o755)
      const second = await start(dataDir)
      expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }])
    })

    test("an ordinary user's folder stays theirs", async () => {
      const home = join(folder, 'home')
      await mkdir(home, { mode: 0o700 })
      execFileSync('chown', ['65534:65534', home])
      const postgres = await start(join(home, '.holdpoint'))
      expect(postgres.folder).toBe(join(home, '.holdpoint', 'postgres'))
      const dataDir = join(home, '.holdpoint')
      for (const file of [dataDir, postgres.folder, join(dataDir, 'postgres.log'), join(dataDir, '.gitignore')]) {
        expect((await lstat(file)).uid).toBe(65534)
      }
    })
  })
})
