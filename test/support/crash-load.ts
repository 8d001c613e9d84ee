import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'

import type { CrashCluster } from './crash-cluster.ts'

export interface Conversation {
  readonly agentId: string
  /** A message that was accepted: its text, and the run that it became. */
  readonly accepted: { readonly text: string; readonly runId: string }[]
}

/** Clients that send one message after another, and repeat it with the same key if a server died. */
export class CrashLoad {
  readonly conversations: Conversation[] = []
  readonly #cluster: CrashCluster
  readonly #sending: Promise<void>[] = []
  readonly #events = new EventEmitter()
  #stopped = false

  constructor(cluster: CrashCluster) {
    this.#cluster = cluster
  }

  async start(clients: number): Promise<void> {
    for (let count = 0; count < clients; count++) {
      const conversation: Conversation = { agentId: await this.#cluster.createAgent(), accepted: [] }
      this.conversations.push(conversation)
      this.#sending.push(this.#send(conversation, count))
    }
  }

  /** Waits until so many more messages are accepted. */
  async more(count: number): Promise<void> {
    const total = () => this.conversations.reduce((sum, { accepted }) => sum + accepted.length, 0)
    for (const enough = total() + count; total() < enough;) await once(this.#events, 'accepted')
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#sending)
  }

  async #send({ agentId, accepted }: Conversation, client: number): Promise<void> {
    while (!this.#stopped) {
      const text = `message ${accepted.length} of client ${client}`
      const key = randomUUID()
      const runId = await this.persist(client, async (server) => {
        const { sendMessage } = await server.data(
          `mutation ($input: SendMessageInput!) { sendMessage(input: $input) {
            ... on SendMessageSuccess { run { id } } ... on Refusal { message } } }`,
          {
            input: {
              to: { agentId },
              messages: [{ text }],
              idempotencyKey: key,
              whenBusy: 'ENQUEUE',
              // Some are waited for, and some queue up.
              waitMs: accepted.length % 4 === 0 ? 0 : 2_000,
            },
          },
        )
        return sendMessage.run.id as string
      })
      accepted.push({ text, runId })
      this.#events.emit('accepted')
    }
  }

  /** Asks one server after another until one lives long enough to answer. */
  async persist<T>(
    choice: number,
    ask: (server: Awaited<ReturnType<CrashCluster['client']>>) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const server = await this.#cluster.client(choice + attempt)
      try {
        return await ask(server)
      } catch (error) {
        // The connection broke, so the outcome is unknown. Anything else is an answer.
        if (!(error instanceof TypeError)) throw error
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
}
