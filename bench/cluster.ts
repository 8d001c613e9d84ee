import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import pg from 'pg'

import { startEmbeddedPostgres } from '../src/store/database/embedded/launch.ts'
import { createLog } from '../src/util/log.ts'
import { ask } from './ask.ts'
import { median, round } from './contenders.ts'
import { machine } from './peers.ts'

const part = process.env['BENCH_CLUSTER']?.split(',')
const turns = Number(process.env['BENCH_CLUSTER_TURNS'] ?? 600)
const rounds = Number(process.env['BENCH_CLUSTER_ROUNDS'] ?? 3)
const warmUpTurns = 150
const conversations = 40
const liveMs = 5_000
const mainFile = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const modelFile = fileURLToPath(new URL('peers/fake-model.mjs', import.meta.url))

/** Processes of one cluster: `serve` does everything, an `api` drives no runs. */
type Role = 'serve' | 'api' | 'worker'

const clusters: Readonly<Record<string, readonly Role[]>> = {
  '1 server': ['serve'],
  '2 servers': ['serve', 'serve'],
  '4 servers': ['serve', 'serve', 'serve', 'serve'],
  '1 API, 1 worker': ['api', 'worker'],
  '1 API, 2 workers': ['api', 'worker', 'worker'],
  '1 API, 3 workers': ['api', 'worker', 'worker', 'worker'],
}

/** Several processes on one database, measured from outside. Nothing of them is in the process that measures. */
export async function benchCluster(): Promise<void> {
  const ground = await openGround()
  try {
    if (!part || part.includes('turns')) await benchTurns(ground)
    if (!part || part.includes('live')) await benchLiveText(ground)
    if (!part || part.includes('death')) await benchDeath(ground)
    if (!part || part.includes('idle')) await benchIdle(ground)
    console.log(JSON.stringify({ bench: 'cluster', ...machine() }))
  } finally {
    await ground.close()
  }
}

interface Ground {
  readonly url: string
  readonly observer: pg.Client
  readonly modelUrl: string
  readonly toolFile: string
  /** Undefined if this machine has none. */
  readonly redisUrl: string | undefined
  postgresCpuMs(): number
  close(): Promise<void>
}

async function openGround(): Promise<Ground> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'holdpoint-'))
  // Readable for every account, because Postgres does not run as root.
  await chmod(folder, 0o755)
  const toolFile = join(folder, 'look-up.mjs')
  await writeFile(
    toolFile,
    `export default { name: 'look_up', description: 'The weather of a place.', parameters: { type: 'object',
      properties: { place: { type: 'string' } } }, run: () => '{"temperature":4,"sky":"clear"}' }`,
  )
  const settings = {
    ...{ max_connections: '300', checkpoint_timeout: '1h', max_wal_size: '10GB' },
    ...{ shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'top' },
  }
  const postgres = await startEmbeddedPostgres({ dataDir: folder, log: createLog('error'), settings })
  const observer = new pg.Client({ connectionString: postgres.url })
  await observer.connect()
  await observer.query('create extension pg_stat_statements')
  const { rows } = await observer.query<{ pid: number }>(
    "select split_part(pg_read_file('postmaster.pid'), e'\\n', 1)::int as pid",
  )
  const model = spawnLine([modelFile], {})
  const redis = await startRedis()
  return {
    url: postgres.url,
    observer,
    modelUrl: await model.line,
    toolFile,
    redisUrl: redis?.url,
    postgresCpuMs: () => treeCpuMs(rows[0]!.pid),
    async close() {
      model.child.kill('SIGKILL')
      redis?.child.kill('SIGKILL')
      await observer.end()
      await postgres.stop()
      await rm(postgres.folder, { recursive: true, force: true })
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function startRedis(): Promise<{ url: string; child: ChildProcess } | undefined> {
  if (spawnSync('redis-server', ['--version']).error) return undefined
  const port = 20_000 + (process.pid % 10_000)
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '']
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: tmpdir() })
  for await (const line of createInterface(child.stdout)) if (/ready to accept/i.test(line)) break
  child.stdout.resume()
  return { url: `redis://127.0.0.1:${port}`, child }
}

interface Process {
  readonly role: Role
  readonly child: ChildProcess
  readonly url: string
}

interface Cluster {
  readonly processes: readonly Process[]
  /** Starts another process. */
  add(role: Role): Promise<void>
  /** Of the processes that have an API. */
  readonly urls: readonly string[]
  cpuMs(role: Role): number
  stop(): Promise<void>
}

let databases = 0

/** On a database of its own. */
async function startCluster(ground: Ground, roles: readonly Role[], bus?: 'Redis'): Promise<Cluster> {
  const database = `cluster_${(databases += 1)}`
  await ground.observer.query(`create database ${database}`)
  const env = {
    DATABASE_URL: ground.url.replace(/[^/]+$/, database),
    HOLDPOINT_TOOLS: ground.toolFile,
    HOLDPOINT_KEY_REQUESTS: '0',
    HOLDPOINT_KEY_SUBSCRIPTIONS: '1000000',
    OPENAI_CHAT_BASE_URL: `${ground.modelUrl}/live/v1`,
    OPENAI_CHAT_API_KEY: 'none',
    LOG_LEVEL: 'error',
    PORT: '0',
    ...(bus && { REDIS_URL: ground.redisUrl }),
  }
  const processes: Process[] = []
  const add = async (role: Role) => {
    const { child, line } = spawnLine([mainFile, role === 'worker' ? 'worker' : 'serve'], {
      ...env,
      HOLDPOINT_WORKERS: role === 'api' ? '0' : '2000',
    })
    processes.push({ role, child, url: (await line).replace('ready ', '') })
  }
  for (const role of roles) await add(role)
  return {
    processes,
    add,
    urls: processes.filter(({ role }) => role !== 'worker').map(({ url }) => url),
    cpuMs: (role) => sum(processes.filter((one) => one.role === role).map(({ child }) => cpuMs(child.pid!))),
    async stop() {
      await Promise.all(
        processes.map(async ({ child }) => {
          if (child.exitCode !== null || child.signalCode !== null) return
          child.kill('SIGKILL')
          await once(child, 'exit')
        }),
      )
    },
  }
}

async function createAgent(url: string, model: string): Promise<string> {
  const { createAgent: created } = await ask(
    url,
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    { input: { name: 'bench', model, includeBaseTools: false, tools: [{ toolName: 'look_up' }] } },
  )
  return created.agent.id
}

async function createConversation(url: string, agentId: string): Promise<string> {
  const { createConversation: created } = await ask(
    url,
    'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
    { input: { agentId } },
  )
  return created.conversation.id
}

async function benchTurns(ground: Ground): Promise<void> {
  const blocks: { name: string; block: Awaited<ReturnType<typeof takeTurns>> }[] = []
  for (let round = 1; round <= rounds; round += 1) {
    for (const [name, roles] of Object.entries(clusters)) {
      console.error(`cluster: ${turns} turns, ${name}, round ${round} of ${rounds} …`)
      const cluster = await startCluster(ground, roles)
      try {
        await takeTurns(ground, cluster, warmUpTurns)
        blocks.push({ name, block: await takeTurns(ground, cluster, turns) })
      } finally {
        await cluster.stop()
      }
    }
  }
  for (const [name, all] of Map.groupBy(blocks, (one) => one.name)) {
    const keys = Object.keys(all[0]!.block) as (keyof (typeof all)[0]['block'])[]
    const figures = Object.fromEntries(keys.map((key) => [key, round(median(all.map(({ block }) => block[key])), 2)]))
    console.log(JSON.stringify({ bench: 'cluster', part: 'turns', cluster: name, ...figures }))
  }
}

/** Turns of two model calls and one tool. The demo model answers at once. */
async function takeTurns(ground: Ground, { urls, cpuMs: cpuOf }: Cluster, count: number) {
  const agentId = await createAgent(urls[0]!, 'demo/scripted')
  const places = await Promise.all(
    Array.from({ length: conversations }, (_, place) => createConversation(urls[place % urls.length]!, agentId)),
  )
  const used = await usedBy(ground)
  const before = { postgres: ground.postgresCpuMs(), serve: cpuOf('serve'), api: cpuOf('api'), worker: cpuOf('worker') }
  const { user, system } = process.cpuUsage()
  const startedAt = performance.now()
  let begun = 0
  const times: number[] = []
  await Promise.all(
    places.map(async (conversationId, place) => {
      while (begun < count) {
        begun += 1
        const turnStartedAt = performance.now()
        const { sendMessage } = await ask(
          urls[place % urls.length]!,
          `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename
            ... on SendMessageSuccess { run { status answer } } ... on Refusal { message } } }`,
          { input: { to: { conversationId }, messages: [{ text: 'call look_up {"place":"Rome"}' }], waitMs: 30_000 } },
        )
        if (sendMessage.run?.status !== 'COMPLETED') throw new Error(JSON.stringify(sendMessage))
        times.push(performance.now() - turnStartedAt)
      }
    }),
  )
  const ms = performance.now() - startedAt
  const client = process.cpuUsage({ user, system })
  const usedNow = await usedBy(ground)
  const sorted = times.toSorted((one, other) => one - other)
  return {
    turnsPerSecond: (times.length / ms) * 1_000,
    p50Ms: sorted[Math.floor(sorted.length / 2)]!,
    p99Ms: sorted[Math.floor(sorted.length * 0.99)]!,
    postgresCpuMs: (ground.postgresCpuMs() - before.postgres) / times.length,
    serverCpuMs: (cpuOf('serve') - before.serve) / times.length,
    apiCpuMs: (cpuOf('api') - before.api) / times.length,
    workerCpuMs: (cpuOf('worker') - before.worker) / times.length,
    statements: (usedNow.statements - used.statements) / times.length,
    walBytes: (usedNow.wal - used.wal) / times.length,
    diskBytes: (usedNow.disk - used.disk) / times.length,
    clientCpuMs: (client.user + client.system) / 1_000 / times.length,
  }
}

/** Of the newest database: statements with BEGIN and COMMIT, and the size of its files; the WAL is of all databases. */
async function usedBy({ observer }: Ground): Promise<{ statements: number; wal: number; disk: number }> {
  const { rows } = await observer.query<{ statements: string; wal: string; disk: string }>(
    `select coalesce(sum(calls), 0) as statements, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal,
       pg_database_size($1) as disk
     from pg_stat_statements where dbid = (select oid from pg_database where datname = $1)`,
    [`cluster_${databases}`],
  )
  const { statements, wal, disk } = rows[0]!
  return { statements: Number(statements), wal: Number(wal), disk: Number(disk) }
}

/** From the model to a reader at an API process; the worker is another one. */
async function benchLiveText(ground: Ground): Promise<void> {
  for (const bus of ground.redisUrl === undefined ? [undefined] : ([undefined, 'Redis'] as const)) {
    for (const chats of [10, 100, 1_000]) {
      console.error(`cluster: ${chats} live runs over ${bus ?? 'Postgres'} …`)
      const cluster = await startCluster(ground, ['api', 'worker'], bus)
      try {
        const figures = await chat(ground, cluster, chats)
        console.log(JSON.stringify({ bench: 'cluster', part: 'live', bus: bus ?? 'Postgres', runs: chats, ...figures }))
      } finally {
        await cluster.stop()
      }
    }
  }
}

async function chat(ground: Ground, { urls, cpuMs: cpuOf }: Cluster, chats: number) {
  const url = urls[0]!
  const agentId = await createAgent(url, 'openai-chat/fake')
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
  const delays: number[] = []
  let isMeasuring = false
  const onStamps = (stamps: readonly number[]) => {
    const now = Date.now()
    if (isMeasuring) for (const stamp of stamps) delays.push(now - stamp)
  }
  for (let opened = 0; opened < chats; opened += 20) {
    const opening = Array.from({ length: Math.min(20, chats - opened) }, async () => {
      const conversationId = await createConversation(url, agentId)
      const { sendMessage } = await ask(
        url,
        `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }`,
        { input: { to: { conversationId }, messages: [{ text: 'Tell me everything.' }] } },
      )
      await readStamps(url, sendMessage.run.id, agent, onStamps)
    })
    await Promise.all(opening)
  }
  await sleep(2_000)
  const before = { postgres: ground.postgresCpuMs(), api: cpuOf('api'), worker: cpuOf('worker') }
  isMeasuring = true
  await sleep(liveMs)
  isMeasuring = false
  const perToken = (ms: number) => round((ms * 1_000) / delays.length, 1)
  const cpu = {
    postgresMicrosPerToken: perToken(ground.postgresCpuMs() - before.postgres),
    apiMicrosPerToken: perToken(cpuOf('api') - before.api),
    workerMicrosPerToken: perToken(cpuOf('worker') - before.worker),
  }
  agent.destroy()
  await fetch(`${ground.modelUrl}/live/end`)
  const sorted = Float64Array.from(delays).toSorted()
  const quantile = (share: number) => sorted[Math.floor(sorted.length * share)] ?? null
  const tokensPerSecond = Math.round(delays.length / (liveMs / 1_000))
  return { p50Ms: quantile(0.5), p99Ms: quantile(0.99), tokensPerSecond, ...cpu }
}

/** Reads the times that the model writes, `@` and milliseconds, until the connection is closed. */
function readStamps(
  url: string,
  runId: string,
  agent: Agent,
  onStamps: (stamps: readonly number[]) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
  const sent = request(url, { method: 'POST', agent, headers }, (response) => {
    let rest = ''
    response.setEncoding('latin1')
    response.on('data', (data: string) => {
      const text = rest + data
      const last = text.lastIndexOf(' ') + 1
      rest = text.slice(last)
      const stamps = [...text.slice(0, last).matchAll(/@(\d{13}) /g)].map(([, stamp]) => Number(stamp))
      if (stamps.length > 0) onStamps(stamps)
    })
    response.on('error', () => {})
    resolve()
  })
  sent.on('error', reject)
  const query = 'subscription ($run: ID!) { runEvents(runId: $run) { ... on TextDelta { text } } }'
  sent.end(JSON.stringify({ query, variables: { run: runId } }))
  return promise
}

/** From the death of the worker that drives a run to the moment when another one has taken it. */
async function benchDeath(ground: Ground): Promise<void> {
  const times: number[] = []
  for (let death = 1; death <= 5; death += 1) {
    console.error(`cluster: the death of a worker, ${death} of 5 …`)
    const cluster = await startCluster(ground, ['api', 'worker'])
    try {
      const url = cluster.urls[0]!
      const agentId = await createAgent(url, 'demo/scripted')
      const { sendMessage } = await ask(
        url,
        `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }`,
        { input: { to: { agentId }, messages: [{ text: `slow 100\nsay ${'word '.repeat(300)}` }] } },
      )
      const query = 'query ($id: ID!) { run(id: $id) { attempts status } }'
      const attempts = async () => (await ask(url, query, { id: sendMessage.run.id })).run.attempts as number
      while ((await attempts()) === 0) await sleep(20)
      await cluster.add('worker')
      // Not always at the same time of a sweep.
      await sleep(1_000 + 100 * death)
      const known = await attempts()
      const killedAt = performance.now()
      cluster.processes.find(({ role }) => role === 'worker')!.child.kill('SIGKILL')
      while ((await attempts()) === known) await sleep(5)
      times.push(performance.now() - killedAt)
    } finally {
      await cluster.stop()
    }
  }
  const sorted = times.toSorted((one, other) => one - other).map(Math.round)
  console.log(JSON.stringify({ bench: 'cluster', part: 'death', takeOverMs: sorted }))
}

/** What a cluster sends that has nothing to do. */
async function benchIdle(ground: Ground): Promise<void> {
  for (const [name, roles] of Object.entries(clusters)) {
    const cluster = await startCluster(ground, roles)
    const database = `cluster_${databases}`
    const commits = async () => {
      const { rows } = await ground.observer.query<{ count: string }>(
        'select xact_commit + xact_rollback as count from pg_stat_database where datname = $1',
        [database],
      )
      return Number(rows[0]!.count)
    }
    await sleep(12_000)
    const before = { count: await commits(), cpu: ground.postgresCpuMs() }
    await sleep(20_000)
    const perSecond = ((await commits()) - before.count) / 20
    const postgresCpu = (ground.postgresCpuMs() - before.cpu) / 20_000
    const { rows } = await ground.observer.query<{ count: string }>(
      'select count(*) as count from pg_stat_activity where datname = $1',
      [database],
    )
    await cluster.stop()
    const figures = { transactionsPerSecond: round(perSecond), postgresCpuShare: round(postgresCpu, 4) }
    const connections = Number(rows[0]!.count)
    console.log(JSON.stringify({ bench: 'cluster', part: 'idle', cluster: name, ...figures, connections }))
  }
}

function spawnLine(args: readonly string[], env: Readonly<Record<string, string | undefined>>) {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const over = once(child, 'exit').then(([code]) => {
    throw new Error(`${args.join(' ')} ended with ${code}`)
  })
  over.catch(() => undefined)
  const first = createInterface(child.stdout)[Symbol.asyncIterator]().next()
  const line = Promise.race([first.then(({ value }) => value as string), over])
  return { child: child as ChildProcess, line }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/** The processor time of a process. Known only on Linux. */
function cpuMs(pid: number): number {
  const [user = 0, system = 0] = timesOf(pid)
  return (user + system) * 10
}

/** With its children, also those that have ended. */
function treeCpuMs(pid: number): number {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(Number(name)) === pid)
  return sum(timesOf(pid)) * 10 + sum(children.map((child) => cpuMs(Number(child))))
}

function fieldsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
  } catch {
    return []
  }
}

function timesOf(pid: number): number[] {
  return fieldsOf(pid).slice(11, 15).map(Number)
}

function parentOf(pid: number): number {
  return Number(fieldsOf(pid)[1])
}
