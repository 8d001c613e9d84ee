import pg from 'pg'

import { startThrowawayServer } from '../scripts/throwaway-server.ts'
import type { Provider } from '../src/providers/provider.ts'
import { defineTool } from '../src/tools/registry.ts'
import { ask } from './ask.ts'

/** What one turn of two model calls and one tool costs, including admission and queue. */
export interface TurnCost {
  readonly statements: number
  readonly walBytes: number
  readonly ms: number
  /** Bytes of records by table, with its indexes. Records are padded to eight bytes, which `walBytes` includes. */
  readonly walOfTables: Readonly<Record<string, number>>
}

/** What a turn may cost on every machine. */
export const turnLimits = { statements: 6, walBytes: 6_912 }

export interface TurnOptions {
  readonly turns: number
  /** Numbers of messages in a conversation before the turns. */
  readonly histories: readonly number[]
  /** Whether commits are flushed to the disk, which takes time and changes nothing else. */
  readonly fsync: boolean
}

export async function benchTurn(): Promise<void> {
  const turns = 500
  console.error(`turn: ${turns} turns after 10 messages and after 100,000 …`)
  const [short, long] = await measureTurns({ turns, histories: [10, 100_000], fsync: true })
  console.log(JSON.stringify({ bench: 'turn', turns, history10: short, history100000: long }))
}

/**
 * The cost of a turn after each history. Uses a separate database, so that the server's WAL contains nothing but these
 * turns.
 */
export async function measureTurns({ turns, histories, fsync }: TurnOptions): Promise<TurnCost[]> {
  const server = await startThrowawayServer({ providers: [twoCalls], tools: [lookUp] })
  const observer = new pg.Client({ connectionString: server.databaseUrl, application_name: 'observer' })
  try {
    await observer.connect()
    await holdMaintenance(observer)
    if (!fsync) await observer.query('alter system set fsync = off')
    await observer.query('select pg_reload_conf()')
    await observer.query('create extension pg_walinspect')
    const idle = await countIdleStatements(observer)
    const costs: TurnCost[] = []
    for (const history of histories) {
      const agent = await createAgent(server.url)
      await writeHistory(observer, history)
      for (let turn = 0; turn < warmUp; turn++) await takeTurn(server.url, agent, observer)
      await atRest(observer)

      const counter = countStatements(observer)
      const walBefore = await walPosition(observer)
      const startedAt = performance.now()
      for (let turn = 0; turn < turns; turn++) await takeTurn(server.url, agent, observer)
      const ms = performance.now() - startedAt
      await atRest(observer)
      const statements = counter.stop() - idle * ms
      const walBytes = (await walPosition(observer)) - walBefore
      const per = (total: number) => Math.round((total / turns) * 100) / 100
      const walOfTables = await readWal(observer, walBefore, turns)
      costs.push({ statements: per(statements), walBytes: Math.round(walBytes / turns), ms: per(ms), walOfTables })
    }
    return costs
  } finally {
    await observer.end()
    await server.stop()
  }
}

const warmUp = 20

/** Calls a tool, and then says what it returned. */
export const twoCalls: Provider = {
  name: 'bench',
  models: () => [{ handle: 'bench/two-calls', provider: 'bench', contextWindow: 1_000_000 }],
  requestBody: () => ({}),
  async *stream({ messages }) {
    const last = messages.at(-1)!
    const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 0, reasoningTokens: 0 }
    if (last.role === 'tool') {
      yield { type: 'text', item: 'text', text: 'It is 4 degrees, and the sky is clear.' }
    } else {
      yield { type: 'call', item: 'call', callId: `call_${messages.length}`, name: 'look_up' }
      yield { type: 'arguments', item: 'call', text: '{"place":"Reykjavik","unit":"celsius"}' }
    }
    yield { type: 'finish', reason: 'end', usage }
  },
}

export const lookUp = defineTool({
  name: 'look_up',
  description: 'The weather of a place.',
  parameters: { type: 'object', properties: { place: { type: 'string' }, unit: { type: 'string' } } },
  run: () => '{"temperature":4,"sky":"clear"}',
})

export async function createAgent(url: string): Promise<string> {
  const { createAgent } = await ask(
    url,
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    {
      input: {
        name: 'bench',
        model: 'bench/two-calls',
        includeBaseTools: false,
        tools: [{ toolName: 'look_up' }],
      },
    },
  )
  return createAgent.agent.id
}

/** The statements that wait for the answer are not counted. */
async function takeTurn(url: string, agent: string, observer: pg.Client): Promise<void> {
  await ask(
    url,
    `mutation ($agent: ID!) { sendMessage(input: {
      to: { agentId: $agent }, messages: [{ text: "What is the weather like in Reykjavik?" }] }) { __typename } }`,
    { agent },
  )
  for (;;) {
    const { rows } = await observer.query<{ status: string }>('select status from runs order by id desc limit 1')
    if (rows[0]!.status === 'COMPLETED') return
    if (rows[0]!.status === 'FAILED') throw new Error('A turn failed.')
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/**
 * After a checkpoint Postgres logs whole pages again, and autovacuum logs what it cleans. On a slow machine both would
 * fall into the measurement.
 */
async function holdMaintenance(client: pg.Client): Promise<void> {
  await client.query(`alter system set checkpoint_timeout = '1d'`)
  await client.query('alter system set autovacuum = off')
}

/**
 * In the newest conversation, as if one long run had been compacted except for its end. Nine of ten messages are of
 * tools, whose words are not indexed: indexing words takes most of the time.
 */
async function writeHistory(client: pg.Client, messages: number): Promise<void> {
  await client.query(
    `with newest as (select * from conversations order by id desc limit 1), r as (
      insert into runs (id, tenant_id, agent_id, conversation_id, number, hold, previous_hold, kind, urgent, max_steps, created_at, request,
        metadata, status, next_seq, first_position, next_position, updated_at, started_at, finished_at)
      select ('00000000-0000-7000-8000-' || lpad($1::integer::text, 12, '0'))::uuid, tenant_id, agent_id, id, 1, 1, 0, 'TURN', false, 50, now(), '{"messages":[],"clientTools":[]}',
        '{}', 'COMPLETED', 2, 1, $1 + 1, now(), now(), now() from newest
      returning conversation_id
    ), c as (
      update conversations set next_run_number = 2, next_hold = 2, next_position = $1 + 1, context_from = greatest(1, $1 - 8)
      where id = (select id from newest)
    )
    insert into messages (id, conversation_id, position, run_hold, type, created_at, content)
    select ('00000000-0000-7000-8000-' || lpad(($1::bigint * 1000000 + position)::text, 12, '0'))::uuid, conversation_id, position, 1,
      case when position % 10 = 0 or position > $1 - 10 then 'USER' else 'TOOL_RETURN' end, now(), '{"content":[{"text":"something was said"}]}'
    from r, generate_series(1, $1::integer) position`,
    [messages],
  )
  await client.query('vacuum analyze messages')
}

/** Waits until no run is left. */
async function atRest(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ runs: string }>('select count(*) as runs from runs where not ended')
    if (Number(rows[0]!.runs) === 0) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Statements per millisecond of an idle server: its sweeps do not belong to a turn, however long that takes. */
async function countIdleStatements(observer: pg.Client): Promise<number> {
  const counter = countStatements(observer)
  const startedAt = performance.now()
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  return counter.stop() / (performance.now() - startedAt)
}

async function walPosition(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes`,
  )
  return Number(rows[0]!.bytes)
}

/** The bytes of the records since then, per turn, by the table that each is about. Most first. */
async function readWal(client: pg.Client, since: number, turns: number): Promise<Record<string, number>> {
  const { rows } = await client.query<{ name: string; bytes: number }>(
    `with range as (select '0/0'::pg_lsn + $1::numeric as first, pg_current_wal_insert_lsn() as last),
      places as (select distinct on (start_lsn) start_lsn, relfilenode
        from range, pg_get_wal_block_info(first, last, false) order by start_lsn, block_id)
    select coalesce(owner.relname, 'commits and others') as name,
      round(sum(record_length - fpi_length) / $2::numeric)::integer as bytes
    from range, pg_get_wal_records_info(first, last) record left join places on places.start_lsn = record.start_lsn
      left join pg_class own on pg_relation_filenode(own.oid) = places.relfilenode
      left join pg_index on pg_index.indexrelid = own.oid
      left join pg_class owner on owner.oid = coalesce(pg_index.indrelid, own.oid)
    group by 1 order by 2 desc`,
    [since, turns],
  )
  return Object.fromEntries(rows.filter(({ bytes }) => bytes > 0).map(({ name, bytes }) => [name, bytes]))
}

/** Counts every statement of this process, including BEGIN, COMMIT and the queue's, except the observer's. */
function countStatements(observer: pg.Client): { stop(): number } {
  const prototype = pg.Client.prototype as unknown as { query: (...given: unknown[]) => unknown }
  const { query } = prototype
  let count = 0
  prototype.query = function (this: unknown, ...given: unknown[]) {
    if (this !== observer) count += 1
    return query.apply(this, given)
  }
  return {
    stop() {
      prototype.query = query
      return count
    },
  }
}
