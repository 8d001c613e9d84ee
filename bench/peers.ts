import { cpus } from 'node:os'

import type pg from 'pg'

import { ask } from './ask.ts'
import { median, onGround, round, startContender, type Contender, type Ground } from './contenders.ts'
// @ts-expect-error A module in JavaScript.
import { question, takeTurns } from './peers/serve.mjs'

const peers = ['hand-written', 'ai', 'openai-agents', 'langgraph', 'mastra', 'mastra-durable', 'holdpoint'] as const

/** `library`: the turns begin in the contender's process. `http`: a client in another process sends each turn. */
const setUps = ['library', 'http'] as const
type SetUp = (typeof setUps)[number]

interface Extent {
  readonly peers: readonly string[]
  readonly rounds: number
  /** Turns of a block, 20 at a time with the fast model, and one at a time with the fast and with the slow model. */
  readonly turns: { readonly together: number; readonly alone: number; readonly slow: number }
}

const whole: Extent = { peers, rounds: 5, turns: { together: 100, alone: 40, slow: 4 } }
const quick: Extent = {
  peers: ['hand-written', 'langgraph', 'holdpoint'],
  rounds: 3,
  turns: { together: 60, alone: 10, slow: 2 },
}

/** What one block of turns measured. */
interface Block {
  readonly runsPerSecond?: number
  readonly cpuMs?: number
  readonly residentMb?: number
  readonly p50Ms?: number
  readonly slowP50Ms?: number
  readonly statements?: number
  readonly walBytes?: number
}

interface NamedBlock {
  readonly name: string
  readonly round: number
  readonly block: Block
}

/**
 * The same turn (two model calls and one tool) through Holdpoint and through other libraries: each in a process of its
 * own with a database of its own, on the same Postgres and the same fake model. In every round each contender takes a
 * block of turns in each set-up, so all of them meet the same moods of the machine. The median of the rounds counts.
 */
export const benchPeers = () => compare('peers', whole)
/** The main ratios in less than two minutes. */
export const benchQuick = () => compare('quick', quick)

async function compare(bench: string, extent: Extent): Promise<void> {
  const wanted = process.env['BENCH_PEERS']?.split(',') ?? extent.peers
  const rounds = Number(process.env['BENCH_PEERS_ROUNDS'] ?? extent.rounds)
  await onGround(async (ground) => {
    const all = await startAll(wanted, ground)
    try {
      const blocks: NamedBlock[] = []
      // The first round warms up: compiled code, cached plans, connections.
      for (let count = 0; count <= rounds; count += 1) {
        console.error(`${bench}: round ${count} of ${rounds} …`)
        for (const one of rotated(all, count)) {
          for (const setUp of setUps) {
            const block = await takeBlock(one, setUp, { extent, ground })
            blocks.push({ name: `${one.name} ${setUp}`, round: count, block })
          }
        }
      }
      const medians = report(
        bench,
        blocks.filter((one) => one.round > 0),
      )
      console.log(JSON.stringify({ bench, ratios: ratiosOf(wanted, medians), ...machine(), rounds }))
    } finally {
      for (const one of all) await one.stop()
    }
  })
}

async function startAll(names: readonly string[], ground: Ground): Promise<Contender[]> {
  const all: Contender[] = []
  for (const name of names) all.push(await startContender(name, ground, { file: `${name}.mjs`, modelPath: '/v1' }))
  return all
}

/** Each round begins with another contender. */
function rotated(all: readonly Contender[], by: number): Contender[] {
  return all.map((_, index) => all[(index + by) % all.length]!)
}

async function takeBlock(
  contender: Contender,
  setUp: SetUp,
  { extent: { turns }, ground: { observer, modelUrl } }: { extent: Extent; ground: Ground },
): Promise<Block> {
  const cpuBefore = contender.cpuMs()
  const many = await take(contender, setUp, { turns: turns.together, atOnce: 20 })
  const cpu = contender.cpuMs() - cpuBefore
  const residentMb = contender.residentMb()
  await observer.query('select pg_stat_statements_reset()')
  const walBefore = await walPosition(observer)
  const one = await take(contender, setUp, { turns: turns.alone, atOnce: 1 })
  const walBytes = (await walPosition(observer)) - walBefore
  const statements = await countStatements(observer, contender.database)
  await fetch(`${modelUrl}/slow`)
  const late = await take(contender, setUp, { turns: turns.slow, atOnce: 1 })
  await fetch(`${modelUrl}/fast`)
  return {
    runsPerSecond: turns.together / (many.ms / 1_000),
    cpuMs: cpu / turns.together,
    residentMb,
    p50Ms: median(one.times),
    statements: statements / turns.alone,
    walBytes: walBytes / turns.alone,
    slowP50Ms: median(late.times),
  }
}

interface Taken {
  readonly times: readonly number[]
  readonly ms: number
}

/** In new conversations, which are made before the clock starts. */
async function take(one: Contender, setUp: SetUp, turns: { turns: number; atOnce: number }): Promise<Taken> {
  const prepared = Array.from({ length: turns.atOnce }, () => `conversation-${(conversationsMade += 1)}`)
  const { conversations } = await one.tell({ prepared })
  const work = { ...turns, conversations }
  if (setUp === 'library') return one.tell(work)
  return takeTurns(work, one.name === 'holdpoint' ? askHoldpoint(one.url) : askPeer(one.url))
}
let conversationsMade = 0

type TakeTurn = (conversation: string) => Promise<string>

function askPeer(url: string): TakeTurn {
  return async (conversation) => {
    const body = JSON.stringify({ conversation, text: question })
    const response = await fetch(url, { method: 'POST', body })
    return ((await response.json()) as { readonly answer: string }).answer
  }
}

function askHoldpoint(url: string): TakeTurn {
  return async (conversationId) => {
    const { sendMessage } = await ask(
      url,
      `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename
        ... on SendMessageSuccess { run { status answer } } ... on Refusal { message } } }`,
      { input: { to: { conversationId }, messages: [{ text: question }], waitMs: 30_000 } },
    )
    return sendMessage.run?.answer ?? JSON.stringify(sendMessage)
  }
}

function report(bench: string, blocks: readonly NamedBlock[]): Map<string, Required<Block>> {
  const medians = new Map<string, Required<Block>>()
  for (const [name, all] of Map.groupBy(blocks, (one) => one.name)) {
    const of = (key: keyof Block) => median(all.map(({ block }) => block[key]!))
    const figures = {
      runsPerSecond: round(of('runsPerSecond')),
      cpuMs: round(of('cpuMs'), 2),
      residentMb: round(of('residentMb'), 0),
      p50Ms: round(of('p50Ms')),
      slowP50Ms: round(of('slowP50Ms')),
      statements: round(of('statements')),
      walBytes: round(of('walBytes'), 0),
    }
    medians.set(name, figures)
    console.log(JSON.stringify({ bench, name, ...figures }))
  }
  return medians
}

/** The less kind ratio comes first: the others are libraries, without HTTP, and Holdpoint is a server. */
function ratiosOf(wanted: readonly string[], medians: ReadonlyMap<string, Required<Block>>) {
  const of = (peer: string, setUp: SetUp) => medians.get(`${peer} ${setUp}`)!
  const pairs = [
    ['server against libraries', 'http', 'library'],
    ['library against libraries', 'library', 'library'],
    ['server against servers', 'http', 'http'],
  ] as const
  const others = wanted.filter((peer) => peer !== 'holdpoint')
  if (!wanted.includes('holdpoint')) return {}
  return Object.fromEntries(
    pairs.map(([name, ours, theirs]) => {
      const us = of('holdpoint', ours)
      const ratios = others.map((peer) => {
        const other = of(peer, theirs)
        return [
          peer,
          {
            runsPerSecond: round(us.runsPerSecond / other.runsPerSecond, 2),
            cpu: round(us.cpuMs / other.cpuMs, 2),
            slowMsMore: round(us.slowP50Ms - other.slowP50Ms),
          },
        ]
      })
      return [name, Object.fromEntries(ratios)]
    }),
  )
}

export function machine() {
  return { machine: cpus()[0]?.model, cores: cpus().length, node: process.version }
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
