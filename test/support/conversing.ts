import type { GraphQLClient } from './graphql-client.ts'
import { gatedHandle } from './gated-model.ts'

export interface AgentOptions {
  readonly model?: string
  /** Names of tools that the server has. */
  readonly tools?: readonly string[]
}

export interface SendOptions {
  readonly whenBusy?: 'REJECT' | 'ENQUEUE' | 'INTERRUPT'
  readonly idempotencyKey?: string
  readonly waitMs?: number
  readonly maxSteps?: number
  readonly maxTotalTokens?: number
}

/** What tests do again and again with an agent, through the API. */
export interface Conversing {
  createAgent(options?: AgentOptions): Promise<string>
  /** The mutation's result, whatever it is. */
  send(agent: string, text: string, options?: SendOptions): Promise<SendResult>
  /** Sends what must be accepted, and gives the run's id. */
  start(agent: string, text: string, options?: SendOptions): Promise<string>
  /** The run as it is once it has paused or ended; throws where it does neither in time. */
  settled(run: string): Promise<ShownRun>
  run(run: string, waitMs?: number): Promise<ShownRun>
  /** Each entry of the run's log by its type and what it says. */
  log(run: string): Promise<string[]>
}

export interface SendResult {
  readonly __typename: string
  readonly run?: { readonly id: string; readonly status: string }
  readonly message?: string
}

export interface ShownRun {
  readonly id: string
  readonly status: string
  readonly stopReason: string | null
  readonly answer: string | null
  readonly attempts: number
  readonly error: { readonly type: string; readonly message: string; readonly retryable: boolean } | null
  readonly usage: { readonly totalTokens: number; readonly steps: number }
  readonly steps: readonly {
    readonly status: string
    readonly toolCalls: readonly ShownCall[]
  }[]
  readonly messages: { readonly nodes: readonly ShownMessage[] }
}

export interface ShownCall {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly result: { readonly output: string } | null
}

export interface ShownMessage {
  readonly __typename: string
  readonly id: string
  readonly inContext: boolean
  readonly text?: string
}

const runFields = `id status stopReason answer attempts error { type message retryable } usage { totalTokens steps }
  steps { status toolCalls { id name status result { output } } }
  messages(first: 200) { nodes { __typename id inContext ... on AssistantMessage { text } ... on UserMessage { text } } }`

export function converse(client: GraphQLClient): Conversing {
  const conversing: Conversing = {
    async createAgent({ model = gatedHandle, tools = [] } = {}) {
      const all = await client.data('{ tools(first: 200) { nodes { id name } } }')
      const toolIds = tools.map((name) => all.tools.nodes.find((tool: { name: string }) => tool.name === name)!.id)
      const { createAgent } = await client.data(
        'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
        { input: { name: 'a', model, includeBaseTools: false, tools: toolIds.map((toolId) => ({ toolId })) } },
      )
      return createAgent.agent.id
    },
    async send(agent, text, options = {}) {
      const { sendMessage } = await client.data(
        `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename
          ... on SendMessageSuccess { run { id status } }
          ... on ConversationBusyRefusal { run { id status } }
          ... on PendingApprovalRefusal { run { id status } }
          ... on Refusal { message } } }`,
        { input: { to: { agentId: agent }, messages: [{ text }], ...options } },
      )
      return sendMessage
    },
    async start(agent, text, options) {
      const { __typename, run, message } = await conversing.send(agent, text, options)
      if (!run || __typename !== 'SendMessageSuccess') throw new Error(`not accepted: ${message}`)
      return run.id
    },
    async run(id, waitMs = 0) {
      const { run } = await client.data(
        `query ($id: ID!, $waitMs: Int) { run(id: $id, waitMs: $waitMs) { ${runFields} } }`,
        {
          id,
          waitMs,
        },
      )
      return run
    },
    async settled(id) {
      const run = await conversing.run(id, 15_000)
      if (['QUEUED', 'RUNNING', 'CANCELLING'].includes(run.status)) throw new Error(`the run is still ${run.status}`)
      return run
    },
    async log(id) {
      const stream = await client.events(
        `subscription ($id: ID!) { runEvents(runId: $id, deltas: false) { __typename
          ... on RunStatusChanged { status } ... on ToolCallChanged { toolCallStatus }
          ... on MessageAdded { message { __typename } } } }`,
        { id },
      )
      const seen: string[] = []
      for await (const { data } of stream) {
        const { __typename, status, toolCallStatus, message } = data!.runEvents
        seen.push([__typename, status ?? toolCallStatus ?? message?.__typename].filter(Boolean).join(' '))
      }
      return seen
    },
  }
  return conversing
}
