import { randomUUID } from 'node:crypto'

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { longer } from '../../support/long.ts'
import { startOwnServer, type OwnServer } from '../../support/own-server.ts'

/** The codes that a client gets while the database fails, after which it tries again. */
const transient = new Set(['UNAVAILABLE', 'TIMEOUT'])
const clients = 5
/** How many requests are answered while the fault lasts. */
const during = longer(15, 300)

let server: OwnServer
let admin: pg.Client
let name: string

beforeAll(async () => {
  server = await startOwnServer()
  name = new URL(server.database.url).pathname.slice(1)
  admin = new pg.Client({ connectionString: inject('postgres').url })
  await admin.connect()
})
afterAll(async () => {
  await admin.end()
  await server.stop()
})

const cutConnections = () =>
  admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])

/** A setting for every new connection. Open connections are cut, so that it takes effect at once. */
async function setForAll(setting: string): Promise<void> {
  await admin.query(`alter database ${name} set ${setting}`)
  await cutConnections()
}

/** Refuses every second write of a run or a message, like a disk that is full now and then. */
async function fillDisk(): Promise<void> {
  await server.database.pool.query(`
    create function no_space() returns trigger language plpgsql as $$
      begin
        if random() < 0.5 then raise exception 'could not extend file: No space left on device' using errcode = '53100'; end if;
        return new;
      end $$;
    create trigger no_space before insert or update on runs for each row execute function no_space();
    create trigger no_space before insert on messages for each row execute function no_space();`)
}

interface DatabaseFault {
  readonly what: string
  readonly begin: () => Promise<unknown>
  /** Repeated while the fault lasts. */
  readonly meanwhile?: () => Promise<unknown>
  readonly end: () => Promise<unknown>
}

const faults: readonly DatabaseFault[] = [
  {
    what: 'connections are cut again and again',
    begin: cutConnections,
    meanwhile: cutConnections,
    end: cutConnections,
  },
  {
    what: 'statements time out',
    begin: () => setForAll(`statement_timeout = '2ms'`),
    end: () => setForAll('statement_timeout = default'),
  },
  {
    what: 'the database is read-only',
    begin: () => setForAll('default_transaction_read_only = on'),
    end: () => setForAll('default_transaction_read_only = off'),
  },
  {
    what: 'the disk is full now and then',
    begin: fillDisk,
    end: () => server.database.pool.query('drop function no_space cascade'),
  },
]

describe('under load', () => {
  test.each(faults)(
    '[FUZ4] nothing is lost or doubled while $what',
    async ({ begin, meanwhile, end }) => {
      const load = startLoad()
      await load.everyoneAccepted()
      await begin()
      for (const until = load.answered() + during; load.answered() < until; await pause(50)) await meanwhile?.()
      await end()
      await load.everyoneAccepted()
      const conversations = await load.stop()
      for (const { agentId, accepted } of conversations) {
        expect(await outcomeOf(agentId, accepted)).toEqual(accepted.map(({ text }) => `COMPLETED ${text}`))
      }
      expect(load.faults).toEqual([])
      await server.assertSound({ besidesErrors: true })
    },
    600_000,
  )
})

interface Accepted {
  readonly text: string
  readonly runId: string
}

/** Clients that send one message after another, and repeat it with the same key until it is accepted. */
function startLoad() {
  let stopped = false as boolean
  let answered = 0
  let all = new Set<number>()
  let everyone = Promise.withResolvers<void>()
  const codes: string[] = []
  const sending = Array.from({ length: clients }, async (_, client) => {
    const created = await persist(
      'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
      {
        name: 'under load',
        model: 'demo/scripted',
      },
    )
    const agentId: string = created.createAgent.agent.id
    const accepted: Accepted[] = []
    while (!stopped) {
      const text = `message ${accepted.length}`
      const { sendMessage } = await persist(sendMessageDocument, {
        to: { agentId },
        messages: [{ text }],
        idempotencyKey: randomUUID(),
        whenBusy: 'ENQUEUE',
        waitMs: accepted.length % 3 === 0 ? 0 : 1_000,
      })
      accepted.push({ text, runId: sendMessage.run.id })
      if (all.add(client).size === clients) everyone.resolve()
    }
    return { agentId, accepted }
  })

  async function persist(document: string, input: object): Promise<any> {
    for (;;) {
      const { data, errors = [] } = await server.client.request(document, { input })
      answered += 1
      if (errors.length === 0) return data
      codes.push(...errors.map((error) => error.extensions.code).filter((code) => !transient.has(code)))
      await pause(20)
    }
  }

  return {
    /** Codes that do not ask to try again. */
    faults: codes,
    answered: () => answered,
    /** Resolves once each client has had another message accepted. */
    everyoneAccepted() {
      all = new Set()
      everyone = Promise.withResolvers()
      return everyone.promise
    },
    stop() {
      stopped = true
      return Promise.all(sending)
    },
  }
}

const sendMessageDocument = `mutation ($input: SendMessageInput!) { sendMessage(input: $input) {
  __typename ... on SendMessageSuccess { run { id } } ... on Refusal { message } } }`

/** How each accepted run ended, and the messages of users that the conversation has: each of them once, in order. */
async function outcomeOf(agentId: string, accepted: readonly Accepted[]): Promise<string[]> {
  const ends = new Map<string, string>()
  for (const { runId } of accepted) {
    const { run } = await server.client.data(
      'query ($id: ID!) { run(id: $id, waitMs: 60000) { status error { message } } }',
      {
        id: runId,
      },
    )
    ends.set(runId, run.error ? `${run.status}: ${run.error.message}` : run.status)
  }
  const { agent } = await server.client.data(
    `query ($id: ID!) { agent(id: $id) { conversations(first: 1) { nodes { messages(first: 200) { nodes {
      __typename ... on UserMessage { text run { id } } } } } } } }`,
    { id: agentId },
  )
  const messages: any[] = agent.conversations.nodes[0]?.messages.nodes ?? []
  return messages
    .filter(({ __typename }) => __typename === 'UserMessage')
    .map(({ text, run }) => `${ends.get(run.id)} ${text}`)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
