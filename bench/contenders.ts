import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import pg from 'pg'

import { startEmbeddedPostgres } from '../src/store/database/embedded/launch.ts'
import { createLog } from '../src/util/log.ts'

const folder = fileURLToPath(new URL('peers', import.meta.url))

/** What every contender of a comparison shares: the fake model, and a Postgres with fsync on. */
export interface Ground {
  readonly modelUrl: string
  readonly postgresUrl: string
  readonly observer: pg.Client
}

export async function onGround(work: (ground: Ground) => Promise<void>): Promise<void> {
  await install()
  const model = spawnProcess('fake-model.mjs', {})
  const postgres = await startPostgres()
  const observer = new pg.Client({ connectionString: postgres.url })
  try {
    await observer.connect()
    await observer.query('create extension pg_stat_statements')
    await work({ modelUrl: await model.nextLine(), postgresUrl: postgres.url, observer })
  } finally {
    await observer.end()
    await postgres.stop()
    await model.stop()
  }
}

/** Only on request and only once, because the compared libraries are not part of the project. */
async function install(): Promise<void> {
  if (existsSync(join(folder, 'node_modules'))) return
  console.error('installing what Holdpoint is compared with into bench/peers/node_modules …')
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(npm, 'exit')
  if (code !== 0) throw new Error('npm ci failed in bench/peers')
}

async function startPostgres() {
  const dataDir = await mkdtemp(join(await realpath(tmpdir()), 'holdpoint-'))
  // Readable for every account, because Postgres does not run as root.
  await chmod(dataDir, 0o755)
  const settings = {
    max_connections: '400',
    shared_preload_libraries: 'pg_stat_statements',
    'pg_stat_statements.track': 'top',
    'pg_stat_statements.max': '10000',
    // A checkpoint of Postgres makes whoever writes next log whole pages.
    checkpoint_timeout: '1h',
    max_wal_size: '10GB',
  }
  const postgres = await startEmbeddedPostgres({ dataDir, log: createLog('error'), settings })
  return {
    url: postgres.url,
    async stop() {
      await postgres.stop()
      await rm(postgres.folder, { recursive: true, force: true })
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** A contender's process, with a database of its own. */
export interface Contender {
  readonly name: string
  readonly database: string
  /** The first line that the process wrote. */
  readonly url: string
  /** Sends a line of JSON and returns the answer. */
  tell(command: object): Promise<any>
  cpuMs(): number
  residentMb(): number
  stop(): Promise<void>
}

export async function startContender(
  name: string,
  { modelUrl, postgresUrl, observer }: Ground,
  { file, modelPath, env = {} }: { file: string; modelPath: string; env?: Readonly<Record<string, string>> },
): Promise<Contender> {
  const database = `peer_${name.replaceAll(/\W/g, '_')}`
  await observer.query(`create database ${database}`)
  const databaseUrl = postgresUrl.replace(/[^/]+$/, database)
  const child = spawnProcess(file, { MODEL_URL: `${modelUrl}${modelPath}`, DATABASE_URL: databaseUrl, ...env })
  const { pid } = child
  return {
    name,
    database,
    url: await child.nextLine(),
    async tell(command) {
      child.write(JSON.stringify(command))
      return JSON.parse(await child.nextLine())
    },
    cpuMs: () => cpuMs(pid),
    residentMb: () => residentMb(pid),
    stop: child.stop,
  }
}

/** A process that answers each line of its input with a line, and first says that it is ready with one. */
function spawnProcess(file: string, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [join(folder, file)], {
    cwd: folder,
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', MASTRA_TELEMETRY_DISABLED: '1', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const over = ended.then(([code]) => {
    throw new Error(`${file} ended with ${code}`)
  })
  over.catch(() => undefined)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    pid: child.pid!,
    write: (line: string) => child.stdin.write(`${line}\n`),
    nextLine: () => Promise.race([lines.next().then(({ value }) => value as string), over]),
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** The processor time that the process has used. Known only on Linux. */
function cpuMs(pid: number): number {
  const fields = readProc(pid, 'stat')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readProc(pid, 'status'))?.[1]) / 1_024
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!
}

export const round = (value: number, digits = 1): number => Number(value.toFixed(digits))
