import { gatedHandle } from './gated-model.ts'
import type { GraphQLClient } from './graphql-client.ts'

/** A client of one server that sends, decides, cancels and watches. Results are whatever the server returns. */
export interface Talk {
  createAgent(
    options?: { readonly tools?: readonly (string | AgentToolGiven)[] } & Record<string, unknown>,
  ): Promise<string>
  /** `to` is the id of an agent or a conversation. */
  send(to: string, text: string, options?: object): Promise<any>
  /** Sends a message that must be accepted, and returns the run's id. */
  start(to: string, text: string, options?: object): Promise<string>
  submit(runId: string, decisions: readonly object[], options?: Record<string, unknown>): Promise<any>
  cancel(input: Record<string, unknown>): Promise<any>
  run(id: string, waitMs?: number, fields?: string): Promise<any>
  /** Returns the run once it has paused or ended, with most of its fields or these. Throws if it does neither. */
  settled(id: string, fields?: string): Promise<any>
  /** The calls that a run waits for, once it does. */
  pending(runId: string): Promise<any[]>
  /** The messages of the run, each by its type and content. */
  messages(runId: string): Promise<any[]>
  /** The run's whole log, each entry in one line. */
  log(runId: string): Promise<string[]>
  watch(runId: string): Watch
  /** The id of a tool that the server has. */
  toolId(name: string): Promise<string>
}

export interface AgentToolGiven {
  readonly name: string
  readonly approvalOverride?: boolean
}

/** A subscriber, and what it has received. */
export interface Watch {
  readonly lines: string[]
  /** The text that its deltas add up to, by message or call. */
  readonly texts: Map<string, string>
  /** Messages that were announced, by id. */
  readonly messages: Map<string, any>
  /** Resolves once a matching line has arrived, or as many as `times` says. */
  until(fits: (line: string) => boolean, times?: number): Promise<void>
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

const callFields = `id name status needs arguments editedArguments expiresAt
  decision { kind reason scope decidedBy toolReturn status } result { status output stdout stderr truncated }`
const messageFields = `__typename id position inContext
  ... on UserMessage { text } ... on SystemMessage { text } ... on ReasoningMessage { text }
  ... on AssistantMessage { text interrupted } ... on ToolCallMessage { toolCalls { id name } }
  ... on ApprovalRequestMessage { toolCalls { id name } }
  ... on ApprovalResponseMessage { decisions { toolCallId kind reason toolReturn status decidedBy } }
  ... on ToolReturnMessage { toolReturns { toolCallId name status output } }`
const runFields = `id status stopReason answer attempts canRetry error { type message retryable }
  usage { totalTokens steps } input { text }
  conversation { id activeRun { id } } agent { lastStopReason }
  pendingToolCalls { id } steps { status stopReason toolCalls { ${callFields} } }
  messages(first: 200) { nodes { ${messageFields} } }`

export function talkTo(client: GraphQLClient): Talk {
  const talk: Talk = {
    async toolId(name) {
      const document = 'query ($name: String!) { tools(filter: { names: [$name] }) { nodes { id } } }'
      return (await client.data(document, { name })).tools.nodes[0].id
    },
    async createAgent({ tools = [], ...options } = {}) {
      const given = tools.map((tool) => (typeof tool === 'string' ? { name: tool } : tool))
      const attached = given.map(({ name, ...rest }) => ({ toolName: name, ...rest }))
      const { createAgent } = await client.data(
        'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
        { input: { name: 'a', model: gatedHandle, includeBaseTools: false, tools: attached, ...options } },
      )
      return createAgent.agent.id
    },
    send: (to, text, options = {}) => send(client, runFields, to, text, options),
    async start(to, text, options = {}) {
      const sent = await send(client, 'id', to, text, options)
      if (sent.__typename !== 'SendMessageSuccess') throw new Error(`not accepted: ${sent.message}`)
      return sent.run.id
    },
    async submit(runId, decisions, options = {}) {
      const { submitApprovals } = await client.data(
        `mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename
          ... on SubmitApprovalsSuccess { run { ${runFields} } } ... on Refusal { message }
          ... on NoPendingApprovalRefusal { run { id } } ... on InvalidToolCallIdsRefusal { invalidIds expectedIds }
          ... on AlreadyDecidedRefusal { decisions { toolCallId kind reason decidedBy decidedAt } }
          ... on InvalidArgumentsRefusal { toolCall { id status } problems { path message } } } }`,
        { input: { runId, decisions, ...options } },
      )
      return submitApprovals
    },
    async cancel(input) {
      const { cancelRun } = await client.data(
        `mutation ($input: CancelRunInput!) { cancelRun(input: $input) { __typename
          ... on CancelRunSuccess { run { ${runFields} } } ... on Refusal { message }
          ... on RunFinishedRefusal { run { id status } } } }`,
        { input },
      )
      return cancelRun
    },
    async run(id, waitMs = 0, fields = runFields) {
      const { run } = await client.data(
        `query ($id: ID!, $waitMs: Int!) { run(id: $id, waitMs: $waitMs) { ${fields} } }`,
        { id, waitMs },
      )
      return run
    },
    async settled(id, fields = runFields) {
      const run = await talk.run(id, 30_000, `status ${fields}`)
      if (['QUEUED', 'RUNNING', 'CANCELLING'].includes(run.status)) throw new Error(`the run is still ${run.status}`)
      return run
    },
    async pending(runId) {
      const run = await talk.settled(runId, `steps { toolCalls { ${callFields} } }`)
      if (run.status !== 'AWAITING_APPROVAL') throw new Error(`the run is ${run.status}`)
      return run.steps.at(-1).toolCalls.filter((call: { status: string }) => call.status === 'PENDING')
    },
    async messages(runId) {
      const { run } = await client.data(
        `query ($id: ID!) { run(id: $id) { messages(first: 200) { nodes { ${messageFields} } } } }`,
        { id: runId },
      )
      return run.messages.nodes
    },
    async log(runId) {
      const watch = talk.watch(runId)
      await watch.ended
      return watch.lines.filter((line) => !line.includes('Delta'))
    },
    watch: (runId) => watchRun(client, runId),
  }
  return talk
}

async function send(client: GraphQLClient, fields: string, to: string, text: string, options: object): Promise<any> {
  const target = to.startsWith('conv') ? { conversationId: to } : { agentId: to }
  const { sendMessage } = await client.data(
    `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename
      ... on SendMessageSuccess { run { ${fields} } } ... on Refusal { message }
      ... on ConversationBusyRefusal { run { id status } }
      ... on PendingApprovalRefusal { run { id status } toolCalls { id } } } }`,
    { input: { to: target, messages: [{ text }], ...options } },
  )
  return sendMessage
}

function watchRun(client: GraphQLClient, runId: string): Watch {
  const socket = client.webSocket()
  const stream = socket.stream(
    `subscription ($run: ID!) { runEvents(runId: $run) { __typename
      ... on RunEntry { seq } ... on RunStatusChanged { status }
      ... on TextDelta { messageId kind offset text } ... on ToolCallDelta { toolCallId offset argumentsText }
      ... on ToolCallChanged { toolCallStatus toolCall { name } } ... on MessageAdded { message { ${messageFields} } } } }`,
    { run: runId },
  )
  const watch = { lines: [] as string[], texts: new Map<string, string>(), messages: new Map<string, any>() }
  let changed = Promise.withResolvers<void>()
  let over = false
  let seq = 0

  const take = (event: any): void => {
    if (event.seq !== undefined && event.seq !== (seq += 1)) throw new Error(`entry ${event.seq} came as ${seq}`)
    const key = event.messageId ?? event.toolCallId
    if (key) {
      const before = watch.texts.get(key) ?? ''
      if (event.offset > before.length) throw new Error(`a delta left a gap at ${before.length}`)
      watch.texts.set(key, before.slice(0, event.offset) + (event.text ?? event.argumentsText))
    }
    if (event.message) {
      const streamed = watch.texts.get(event.message.id)
      if (streamed !== undefined && streamed !== event.message.text) {
        throw new Error(`streamed ${JSON.stringify(streamed)}, stored ${JSON.stringify(event.message.text)}`)
      }
      watch.messages.set(event.message.id, event.message)
    }
    watch.lines.push(lineOf(event))
    changed.resolve()
  }
  const ended = (async () => {
    try {
      for await (const { data, errors } of stream) {
        if (errors) throw new Error(JSON.stringify(errors))
        take(data!.runEvents)
      }
    } finally {
      over = true
      changed.resolve()
      await socket.dispose()
    }
  })()
  // Anyone waiting for it gets the error. A server that stops during a watch is not an error here.
  ended.catch(() => undefined)
  return {
    ...watch,
    ended,
    async until(fits, times = 1) {
      while (watch.lines.filter(fits).length < times) {
        if (over) {
          await ended
          throw new Error(`the stream ended without it:\n${watch.lines.join('\n')}`)
        }
        changed = Promise.withResolvers()
        await changed.promise
      }
    },
    async close() {
      await stream.close()
      await socket.dispose()
    },
  }
}

function lineOf(event: any): string {
  const what =
    event.status ??
    event.text ??
    event.argumentsText ??
    event.message?.__typename ??
    (event.toolCall && `${event.toolCall.name} ${event.toolCallStatus}`)
  return [event.__typename, what].filter((part) => part !== undefined).join(' ')
}

export const approve = (call: { readonly id: string }, more: object = {}) => ({
  approve: { toolCallId: call.id, ...more },
})
export const deny = (call: { readonly id: string }, reason?: string) => ({ deny: { toolCallId: call.id, reason } })
export const giveReturn = (call: { readonly id: string }, output: string, more: object = {}) => ({
  toolReturn: { toolCallId: call.id, status: 'SUCCESS', output, ...more },
})
