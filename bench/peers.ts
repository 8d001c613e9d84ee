import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import pg from 'pg'

import { prepareDatabase } from '../src/prepare-database.ts'
import { startEmbeddedPostgres } from '../src/store/database/embedded/launch.ts'
import { openDatabase } from '../src/store/database/open-database.ts'
import { createLog } from '../src/util/log.ts'
import { ask } from './ask.ts'

const folder = fileURLToPath(new URL('peers', import.meta.url))
const conversations = 20
/** Enough for compiled code, cached plans and as many connections as the load needs. */
const warmUp = 200
const alone = Number(process.env['BENCH_PEERS_TURNS'] ?? 200)
const together = alone * 2

const peers = ['hand-written', 'ai', 'openai-agents', 'langgraph', 'mastra', 'mastra-durable', 'holdpoint']

/** Sends a turn to one of the conversations, by its number. Resolves when the answer is stored. */
type TakeTurn = (conversation: number) => Promise<void>

/**
 * The same turn (two model calls and one tool) through Holdpoint and through other libraries: each in a separate
 * process, behind HTTP, with the same fake model and a new database on the same Postgres, one after the other.
 */
export async function benchPeers(): Promise<void> {
  await install()
  const wanted = process.env['BENCH_PEERS']?.split(',') ?? peers
  const model = spawnServer('fake-model.mjs', {})
  const modelUrl = await model.line
  const postgres = await startPostgres()
  const observer = new pg.Client({ connectionString: postgres.url })
  try {
    await observer.connect()
    await observer.query('create extension pg_stat_statements')
    for (const name of wanted) {
      console.error(`peers: ${name} …`)
      const figures = await benchPeer(name, { modelUrl, observer, postgresUrl: postgres.url })
      console.log(JSON.stringify({ bench: 'peers', name, ...figures }))
    }
    const [cpu] = cpus()
    console.log(
      JSON.stringify({ machine: cpu?.model, cores: cpus().length, node: process.version, turns: alone + together }),
    )
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
    max_connections: '200',
    shared_preload_libraries: 'pg_stat_statements',
    'pg_stat_statements.track': 'top',
    'pg_stat_statements.max': '10000',
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

interface Ground {
  readonly modelUrl: string
  readonly observer: pg.Client
  readonly postgresUrl: string
}

async function benchPeer(name: string, { modelUrl, observer, postgresUrl }: Ground) {
  const database = `peer_${name.replaceAll('-', '_')}`
  await observer.query(`create database ${database}`)
  const databaseUrl = postgresUrl.replace(/[^/]+$/, database)
  const { pid, takeTurn, stop } = await (name === 'holdpoint' ? startHoldpoint : startPeer)(name, {
    modelUrl,
    databaseUrl,
  })
  try {
    await takeTurns(warmUp, conversations, takeTurn)
    await observer.query('select pg_stat_statements_reset()')
    const walBefore = await walPosition(observer)
    const times = await takeTurns(alone, 1, takeTurn)
    const walBytes = (await walPosition(observer)) - walBefore
    const statements = await countStatements(observer, database)
    const cpuBefore = cpuMs(pid)
    const startedAt = performance.now()
    await takeTurns(together, conversations, takeTurn)
    const seconds = (performance.now() - startedAt) / 1_000
    const cpu = cpuMs(pid) - cpuBefore
    const sorted = times.toSorted((one, other) => one - other)
    return {
      p50Ms: round(sorted[Math.floor(alone * 0.5)]!),
      p95Ms: round(sorted[Math.floor(alone * 0.95)]!),
      runsPerSecond: Math.round(together / seconds),
      statements: round(statements / alone),
      walBytes: Math.round(walBytes / alone),
      cpuMs: round(cpu / together),
    }
  } finally {
    await stop()
  }
}

/** Runs this many turns, at most `atOnce` at a time, those of one conversation one after another. */
async function takeTurns(turns: number, atOnce: number, takeTurn: TakeTurn): Promise<number[]> {
  const times: number[] = []
  let begun = 0
  const takers = Array.from({ length: atOnce }, async (_, taker) => {
    for (let conversation = taker; begun < turns; conversation = (conversation + atOnce) % conversations) {
      begun += 1
      const startedAt = performance.now()
      await takeTurn(conversation)
      times.push(performance.now() - startedAt)
    }
  })
  await Promise.all(takers)
  return times
}

async function startPeer(name: string, { modelUrl, databaseUrl }: { modelUrl: string; databaseUrl: string }) {
  const server = spawnServer(`${name}.mjs`, { MODEL_URL: modelUrl, DATABASE_URL: databaseUrl })
  const url = await server.line
  const takeTurn: TakeTurn = async (conversation) => {
    const body = JSON.stringify({ conversation: `conversation-${conversation}`, text: question })
    const response = await fetch(url, { method: 'POST', body })
    const { answer } = (await response.json()) as { readonly answer: string }
    if (!answer.includes('sun.')) throw new Error(`${name} answered ${JSON.stringify(answer)}`)
  }
  return { pid: server.pid, takeTurn, stop: server.stop }
}

async function startHoldpoint(_name: string, { modelUrl, databaseUrl }: { modelUrl: string; databaseUrl: string }) {
  const database = await openDatabase(databaseUrl, { log: createLog('error') })
  await prepareDatabase(database, { log: createLog('error') })
  await database.close()
  const server = spawnServer('../../src/main.ts', {
    PORT: '0',
    LOG_LEVEL: 'error',
    DATABASE_URL: databaseUrl,
    OPENAI_CHAT_BASE_URL: modelUrl,
    OPENAI_CHAT_API_KEY: 'none',
    HOLDPOINT_TOOLS: join(folder, 'holdpoint-tools.mjs'),
  })
  const url = (await server.line).replace('ready ', '')
  const { tools } = await ask(url, '{ tools(first: 200, filter: { nameContains: "look_up" }) { nodes { id } } }')
  const { createAgent } = await ask(
    url,
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    {
      input: {
        name: 'weather',
        model: 'openai-chat/fake',
        instructions: 'You are a weather service. Use look_up to find the weather.',
        includeBaseTools: false,
        tools: [{ toolId: tools.nodes[0].id }],
      },
    },
  )
  const ids: string[] = []
  for (let made = 0; made < conversations; made += 1) {
    const { createConversation } = await ask(
      url,
      'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
      { input: { agentId: createAgent.agent.id } },
    )
    ids.push(createConversation.conversation.id)
  }
  const takeTurn: TakeTurn = async (conversation) => {
    const { sendMessage } = await ask(
      url,
      `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename
        ... on SendMessageSuccess { run { status answer } } ... on Refusal { message } } }`,
      { input: { to: { conversationId: ids[conversation] }, messages: [{ text: question }], waitMs: 30_000 } },
    )
    if (!sendMessage.run?.answer?.includes('sun.')) throw new Error(`Holdpoint answered ${JSON.stringify(sendMessage)}`)
  }
  return { pid: server.pid, takeTurn, stop: server.stop }
}

const question = 'What is the weather like in Reykjavik?'

/** A process whose first line of output is its address. */
function spawnServer(file: string, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [join(folder, file)], {
    cwd: folder,
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', MASTRA_TELEMETRY_DISABLED: '1', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const first = once(createInterface(child.stdout), 'line').then(([line]) => line as string)
  const over = ended.then(([code]) => {
    throw new Error(`${file} ended with ${code}`)
  })
  over.catch(() => undefined)
  return {
    pid: child.pid!,
    line: Promise.race([first, over]),
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function walPosition(observer: pg.Client): Promise<number> {
  const { rows } = await observer.query<{ bytes: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes`,
  )
  return Number(rows[0]!.bytes)
}

/** Includes BEGIN and COMMIT. */
async function countStatements(observer: pg.Client, database: string): Promise<number> {
  const { rows } = await observer.query<{ calls: string }>(
    `select coalesce(sum(calls), 0) as calls from pg_stat_statements
     where dbid = (select oid from pg_database where datname = $1)`,
    [database],
  )
  return Number(rows[0]!.calls)
}

/** The processor time that the process has used. Known only on Linux. */
function cpuMs(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return Number.NaN
  }
}

const round = (value: number): number => Math.round(value * 10) / 10
