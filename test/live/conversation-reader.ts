import { setTimeout as delay } from 'node:timers/promises'

import type { GraphQLClient } from '../support/graphql-client.ts'

const events = `__typename cursor ... on RunEvent { runId } ... on RunEntry { seq }
  ... on MessageAdded { message { id position } }
  ... on BranchChanged { lastSharedMessage { position } } ... on QueueChanged { queue { id } }`

/**
 * A client of a conversation as the contract describes it: it starts empty, adds messages, drops and loads them when
 * the branch changes, and replaces the queue. It throws if an entry of a run is skipped or repeated.
 */
export class ConversationReader {
  readonly #client: GraphQLClient
  readonly #id: string
  #cursor: string
  #connection: ReturnType<ConversationReader['connect']> | undefined
  #next: Promise<any> | undefined
  readonly #seqs = new Map<string, number>()
  readonly messages = new Map<number, string>()
  queue: readonly string[] = []

  constructor(client: GraphQLClient, id: string, cursor: string) {
    this.#client = client
    this.#id = id
    this.#cursor = cursor
  }

  private connect() {
    const socket = this.#client.webSocket()
    const stream = socket.stream(
      `subscription ($id: ID!, $after: EventCursor!) {
        conversationEvents(conversationId: $id, after: $after) { ${events} } }`,
      { id: this.#id, after: this.#cursor },
    )
    return { socket, stream }
  }

  /** Events in transit are lost. The next read resumes at the cursor of the last event. */
  async drop(): Promise<void> {
    this.#next?.catch(() => {})
    this.#next = undefined
    await this.#connection?.socket.dispose()
    this.#connection = undefined
  }

  /** Reads until the messages and the queue are as expected, or nothing arrives for too long. */
  async readUntil(ids: readonly string[], queue: readonly string[] = []): Promise<void> {
    const isThere = () => String(this.ids()) === String(ids) && String(this.queue) === String(queue)
    while (!isThere()) {
      this.#connection ??= this.connect()
      this.#next ??= this.#connection.stream.next()
      const result = await Promise.race([this.#next, delay(10_000, undefined, { ref: false })])
      if (!result) throw new Error(`it stays at ${this.ids()} and ${this.queue}, instead of ${ids} and ${queue}`)
      this.#next = undefined
      if (result.errors) throw new Error(result.errors[0]!.extensions.code)
      await this.#apply(result.data.conversationEvents)
    }
  }

  ids(): string[] {
    return [...this.messages].toSorted(([one], [other]) => one - other).map(([, id]) => id)
  }

  async #apply(event: any): Promise<void> {
    if (event.seq !== undefined) {
      const last = this.#seqs.get(event.runId) ?? 0
      if (event.seq !== last + 1) throw new Error(`entry ${event.seq} of ${event.runId} came after ${last}`)
      this.#seqs.set(event.runId, event.seq)
    }
    if (event.__typename === 'MessageAdded') this.messages.set(event.message.position, event.message.id)
    if (event.__typename === 'QueueChanged') this.queue = event.queue.map(({ id }: { id: string }) => id)
    if (event.__typename === 'BranchChanged') await this.#changeBranch(event.lastSharedMessage?.position ?? 0)
    this.#cursor = event.cursor
  }

  async #changeBranch(last: number): Promise<void> {
    const { conversation } = await this.#client.data(
      'query ($id: ID!) { conversation(id: $id) { messages(first: 200) { nodes { id position } } } }',
      { id: this.#id },
    )
    for (const position of this.messages.keys()) if (position > last) this.messages.delete(position)
    for (const { id, position } of conversation.messages.nodes) if (position > last) this.messages.set(position, id)
  }
}
