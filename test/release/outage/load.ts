import { randomUUID } from 'node:crypto'
import { inspect } from 'node:util'

import { eventFields, Reader } from '../../live/reader.ts'
import { transportNames, transports } from '../../server/transports.ts'
import type { GraphQLClient, GraphQLResult } from '../../support/graphql-client.ts'
import { longer } from '../../support/long.ts'

/** The pause between two questions of one client. An outage is at least a second long. */
const askEveryMs = longer(200, 50)
/** The errors that a client may get while the database is unavailable, after which it tries again. */
const retryable = new Set(['UNAVAILABLE', 'TIMEOUT'])
/** Close codes after which clients reconnect: the key cannot be looked up, or this machine was too slow to send it. */
const reconnecting = [1013, 4408]

interface Answered {
  readonly what: string
  /** Undefined for data. */
  readonly code: string | undefined
  readonly ms: number
}

/** A run that was accepted, and what its reader was sent. */
export interface Followed {
  readonly runId: string
  readonly text: string
  readonly reader: Reader
}

/** Clients of several servers that ask, send, decide and follow, and try again as long as they are asked to. */
export class OutageLoad {
  readonly answered: Answered[] = []
  /** Answers that no client may get, whatever the database does. */
  readonly faults: string[] = []
  /** Streams that the server ended, by code. */
  readonly resumed: string[] = []
  readonly followed: Followed[] = []
  readonly #clients: readonly GraphQLClient[]
  readonly #isBehind: (client: GraphQLClient) => boolean
  readonly #working: Promise<void>[] = []
  #stopped = false

  /** A server that is behind may not know what another one has been told. */
  constructor(clients: readonly GraphQLClient[], isBehind: (client: GraphQLClient) => boolean = () => false) {
    this.#clients = clients
    this.#isBehind = isBehind
  }

  /** One conversation: of two messages that are sent together, one is answered and one waits. */
  talk(agentId: string, words: number): void {
    this.#working.push(
      ...this.#clients.map(async (client, index) => {
        const { createConversation } = await this.persist(
          client,
          'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
          { agentId },
        )
        for (let turn = 0; !this.#stopped; turn += 1) {
          const to = { conversationId: createConversation.conversation.id }
          const texts = ['first', 'second'].map(
            (which) => `slow 20\nsay ${`${which} of turn ${turn} `.repeat(words / 4).trim()}`,
          )
          const runIds: string[] = []
          for (const text of texts) runIds.push(await this.#send(client, to, text))
          // Also through the other server, which gets the text from the one that drives the run.
          const other = this.#clients[(index + turn) % this.#clients.length]!
          await Promise.all(runIds.map((runId, which) => this.#follow(other, runId, texts[which]!)))
        }
      }),
    )
  }

  /** Keeps asking, over every transport. */
  ask(): void {
    const query = '{ agents(first: 5) { nodes { id lastStopReason } } }'
    for (const client of this.#clients) {
      for (const transport of transportNames)
        this.#working.push(this.#repeat(transport, () => transports[transport](client, { query })))
      const socket = client.webSocket()
      this.#working.push(this.#repeat('open socket', () => socket.request(query)).then(() => socket.dispose()))
    }
  }

  /** Repeats the mutation until it succeeds. */
  async persist(client: GraphQLClient, document: string, input: object): Promise<any> {
    for (;;) {
      const { data, errors } = await this.#once('mutation', () => client.request(document, { input }))
      if (!errors) return data
      await pause(50)
    }
  }

  answers(code: string): Map<string, number> {
    const counts = new Map<string, number>()
    for (const one of this.answered) if (one.code === code) counts.set(one.what, (counts.get(one.what) ?? 0) + 1)
    return counts
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#working)
  }

  async sendAndFollow(client: GraphQLClient, to: object, text: string): Promise<void> {
    await this.#follow(client, await this.#send(client, to, text), text)
  }

  async #send(client: GraphQLClient, to: object, text: string): Promise<string> {
    const { sendMessage } = await this.persist(
      client,
      'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }',
      { to, messages: [{ text }], idempotencyKey: randomUUID(), whenBusy: 'ENQUEUE' },
    )
    return sendMessage.run.id
  }

  /** Reads the run's stream to its end, and resumes at the last cursor if the server ended it with a code. */
  async #follow(client: GraphQLClient, runId: string, text: string): Promise<void> {
    const reader = new Reader()
    this.followed.push({ runId, text, reader })
    const document = `subscription ($run: ID!, $after: EventCursor) {
      runEvents(runId: $run, after: $after) { ${eventFields} } }`
    while (reader.end === undefined) {
      const wasBehind = this.#isBehind(client)
      const socket = client.webSocket()
      const stream = socket.stream(document, { run: runId, after: reader.cursor })
      try {
        for (let result = await stream.next(); result; result = await stream.next()) {
          const code = result.errors?.[0]!.extensions.code
          if (code === 'NOT_FOUND' && wasBehind) {
            await pause(50)
            break
          }
          if (code !== undefined && !retryable.has(code)) throw new Error(JSON.stringify(result.errors))
          if (code !== undefined) this.resumed.push(code)
          else reader.apply(result.data.runEvents)
        }
      } catch (error) {
        if (!isReconnecting(error)) {
          this.faults.push(`${runId}: ${String(error)}`)
          return
        }
        this.resumed.push('closed')
        await pause(50)
      } finally {
        await socket.dispose()
      }
    }
  }

  async #repeat(what: string, ask: () => Promise<GraphQLResult>): Promise<void> {
    while (!this.#stopped) {
      await this.#once(what, ask)
      await pause(askEveryMs)
    }
  }

  async #once(what: string, ask: () => Promise<GraphQLResult>): Promise<GraphQLResult> {
    const start = performance.now()
    const answer = await ask().catch((error: unknown): GraphQLResult => {
      const code = isReconnecting(error) ? 'UNAVAILABLE' : `no answer: ${inspect(error)}`
      return { errors: [{ message: '', extensions: { code } }] }
    })
    const code = answer.errors?.[0]!.extensions.code
    if (code !== undefined && !retryable.has(code)) this.faults.push(`${what}: ${JSON.stringify(answer.errors)}`)
    this.answered.push({ what, code, ms: performance.now() - start })
    return answer
  }
}

function isReconnecting(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as { readonly code?: number }
  return code !== undefined && reconnecting.includes(code)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
