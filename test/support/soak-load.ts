import { setTimeout as sleep } from 'node:timers/promises'

import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import type { GraphQLClient } from './graphql-client.ts'
import type { LongHaul } from './long-haul.ts'
import { addTurns } from './many-turns.ts'

const ways = ['archiveConversation', 'deleteConversation', 'deleteAgent'] as const

/** A typical load: turns in conversations that come and go, and one long conversation. */
export class SoakLoad {
  readonly #api: GraphQLClient
  readonly #database: OpenDatabase
  readonly #haul: LongHaul
  #haulTurns = 0
  #conversations = 0

  constructor(api: GraphQLClient, database: OpenDatabase, haul: LongHaul) {
    this.#api = api
    this.#database = database
    this.#haul = haul
  }

  /**
   * The turns of several clients, each with conversations of ten turns. Every fifth turn is in the long conversation.
   */
  async turns(count: number): Promise<void> {
    const conversations = Math.ceil((count * 0.8) / 10)
    const clients = 4
    const talk = async (client: number) => {
      for (let number = client; number < conversations; number += clients) await this.#shortConversation()
    }
    const haul = async () => {
      for (let number = 0; number < count * 0.2; number += 1) await this.#haul.turn((this.#haulTurns += 1))
    }
    await Promise.all([haul(), ...Array.from({ length: clients }, (_, client) => talk(client))])
  }

  /** Adds a conversation of this many turns and deletes it. Resolves when its rows are gone. */
  async bulk(turns: number): Promise<void> {
    const { agent, conversation } = await this.#create()
    const id = conversation.slice(conversation.indexOf('_') + 1)
    await addTurns(this.#database.pool, id, turns)
    await this.#api.data('mutation ($id: ID!) { deleteAgent(input: { id: $id }) { deletedId } }', { id: agent })
    const isThere = async () =>
      (await this.#database.pool.query('select from conversations where id = $1', [id])).rowCount! > 0
    while (await isThere()) await sleep(200)
  }

  async #shortConversation(): Promise<void> {
    const number = (this.#conversations += 1)
    const way = ways[number % ways.length]!
    const { agent, conversation } = await this.#create(way === 'deleteAgent' ? undefined : this.#haul.agent)
    for (let turn = 0; turn < 10; turn += 1) {
      const text = turn % 2 === 0 ? `turn ${turn}` : `call conversation_search {"query": "turn"}\nturn ${turn}`
      const { sendMessage } = await this.#api.data(
        `mutation ($input: SendMessageInput!) { sendMessage(input: $input) {
          ... on SendMessageSuccess { run { status } } ... on Refusal { message } } }`,
        {
          input: {
            to: { conversationId: conversation },
            messages: [{ text }],
            idempotencyKey: `${conversation} ${turn}`,
            waitMs: 30_000,
          },
        },
      )
      if (sendMessage.run?.status !== 'COMPLETED') throw new Error(`a turn failed: ${JSON.stringify(sendMessage)}`)
    }
    const id = way === 'deleteAgent' ? agent : conversation
    await this.#api.data(`mutation ($id: ID!) { ${way}(input: { id: $id }) { __typename } }`, { id })
  }

  /** A conversation of the agent, by default of a new one. */
  async #create(given?: string): Promise<{ readonly agent: string; readonly conversation: string }> {
    const agent = given ?? (await this.#createAgent())
    const { createConversation } = await this.#api.data(
      'mutation ($id: ID!) { createConversation(input: { agentId: $id }) { conversation { id } } }',
      { id: agent },
    )
    return { agent, conversation: createConversation.conversation.id }
  }

  async #createAgent(): Promise<string> {
    const { createAgent } = await this.#api.data(
      'mutation { createAgent(input: { name: "short", model: "demo/scripted" }) { agent { id } } }',
    )
    return createAgent.agent.id
  }
}
