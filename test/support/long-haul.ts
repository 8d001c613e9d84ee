import type { GraphQLClient } from './graphql-client.ts'

/** One long conversation, kept up by a client that may lose its server at any moment. */
export interface LongHaul {
  readonly agent: string
  /** Sends the turn until it is accepted once, and waits until its run has ended. */
  turn(number: number): Promise<{ readonly status: string; readonly ms: number }>
  /** What is wrong with the model's next request. Undefined if nothing is. */
  faultOfContext(): Promise<string | undefined>
}

export interface LongHaulOptions {
  readonly model: string
  readonly window: number
  /** The process to ask now: after a kill, another one. */
  readonly client: () => Promise<GraphQLClient>
}

export async function startLongHaul({ model, window, client }: LongHaulOptions): Promise<LongHaul> {
  const api = await client()
  const { createAgent } = await api.data(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    {
      input: {
        name: 'traveller',
        model,
        instructions: 'Keep going.',
        modelSettings: { contextWindow: window },
        blocks: [{ label: 'notes', value: '', charLimit: 800 }],
      },
    },
  )
  const agent: string = createAgent.agent.id
  await api.data(
    'mutation ($agent: ID!) { createSleeptimeGroup(input: { agentId: $agent, frequency: 3 }) { group { id } } }',
    {
      agent,
    },
  )

  /** Tries again, wherever the server is by then. Each request may be repeated without a second effect. */
  async function insist<Data>(ask: (api: GraphQLClient) => Promise<Data>): Promise<Data> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await ask(await client())
      } catch (error) {
        if (attempt === 20 || !isLost(error)) throw error
      }
    }
  }

  return {
    agent,
    async turn(number) {
      const startedAt = performance.now()
      const run: string = await insist(async (server) => {
        const { sendMessage } = await server.data(
          `mutation ($input: SendMessageInput!) {
            sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } ... on Refusal { message } } }`,
          {
            input: {
              to: { agentId: agent },
              messages: [{ text: scriptOf(number) }],
              idempotencyKey: `turn ${number}`,
              waitMs: 20_000,
            },
          },
        )
        if (!sendMessage.run) throw new Error(sendMessage.message)
        return sendMessage.run.id
      })
      for (;;) {
        const { run: shown } = await insist((server) =>
          server.data('query ($run: ID!) { run(id: $run, waitMs: 20000) { status } }', { run }),
        )
        if (['COMPLETED', 'FAILED', 'CANCELLED'].includes(shown.status)) {
          return { status: shown.status, ms: performance.now() - startedAt }
        }
      }
    },
    async faultOfContext() {
      const data = await insist((server) =>
        server.data(
          `query ($agent: ID!) { agent(id: $agent) { mainConversation { context {
            tokens { total window } messages { __typename } request } } } }`,
          { agent },
        ),
      )
      const { tokens, request } = data.agent.mainConversation.context
      if (tokens.total > tokens.window) return `it weighs ${tokens.total} of ${tokens.window}`
      return faultOfExchange(request.messages)
    },
  }
}

/** Messages for the scripted model: plain talk, tools that work and fail, a model that fails. */
function scriptOf(number: number): string {
  const talk = `turn ${number}: ${'we talked about this and that. '.repeat(3 + (number % 7))}`
  if (number % 29 === 0) return `fail error\n${talk}`
  if (number % 5 === 0) return `call memory_insert {"label": "notes", "new_string": "turn ${number}"}\n${talk}`
  if (number % 7 === 0) return `call conversation_search {"query": "turn ${number - 3}"}\ncall no_such_tool {}\n${talk}`
  return talk
}

function isLost(error: unknown): boolean {
  return error instanceof TypeError || /fetch failed|terminated|ECONNREFUSED|other side closed/.test(String(error))
}

function faultOfExchange(messages: readonly any[]): string | undefined {
  for (const [index, message] of messages.entries()) {
    const calls = message.role === 'assistant' ? message.parts.filter((part: any) => part.type === 'call') : []
    const next = messages[index + 1]
    const returns = next?.role === 'tool' ? next.returns : []
    const [called, returned] = [calls, returns].map((list) => list.map(({ callId }: any) => callId).join())
    if (called !== returned) return `the calls ${called} have the returns ${returned}`
  }
  return undefined
}
