import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'vitest'

import { eventFields, Reader, storedTexts } from '../live/reader.ts'
import type { CrashCluster } from './crash-cluster.ts'
import type { GraphQLClient } from './graphql-client.ts'

/** What clients did, and what the servers told them. Whatever a server has said must be true of what is stored. */
export interface History {
  /** Runs that were accepted, with the message that each was made for, if it was a new one. */
  readonly accepted: { readonly agentId: string; readonly runId: string; readonly text: string | undefined }[]
  /** Messages that were refused. */
  readonly refused: string[]
  /** Runs of which a cancel was accepted. */
  readonly cancelled: string[]
  /** Decisions that were accepted, by call. */
  readonly decided: Map<string, 'APPROVED' | 'DENIED'>
  /** What was streamed of a run that was followed to its end. */
  readonly streamed: { readonly runId: string; readonly reader: Reader }[]
  /** Answers that are never allowed. */
  readonly faults: string[]
}

const accepting = `__typename ... on Refusal { message }`
const refusable = new Set(['ConversationBusyRefusal', 'PendingApprovalRefusal'])

/** Clients that do everything that the API offers, one after another, and ask again until a server has answered. */
export class HistoryLoad {
  readonly history: History = {
    ...{ accepted: [], refused: [], cancelled: [], streamed: [], faults: [] },
    decided: new Map(),
  }
  readonly #cluster: CrashCluster
  readonly #working: Promise<void>[] = []
  #stopped = false

  constructor(cluster: CrashCluster) {
    this.#cluster = cluster
  }

  async start(clients: number): Promise<void> {
    for (let client = 0; client < clients; client += 1) {
      const agentId = await this.#createAgent(client)
      this.#working.push(this.#act(client, agentId))
    }
  }

  /** Waits until so many more runs are accepted. */
  async more(count: number): Promise<void> {
    const enough = this.history.accepted.length + count
    await expect.poll(() => this.history.accepted.length).toBeGreaterThanOrEqual(enough)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#working)
  }

  async #createAgent(client: number): Promise<string> {
    const tools = ['once', 'repeatable', 'picture'].map((toolName) => ({
      toolName,
      approvalOverride: toolName === 'once' && client % 2 === 0,
    }))
    const { createAgent } = await this.#persist(
      client,
      'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
      {
        name: `client ${client}`,
        model: 'crash/scripted',
        includeBaseTools: false,
        tools,
        idempotencyKey: randomUUID(),
      },
    )
    const agentId = createAgent.agent.id as string
    if (client % 3 === 0)
      await this.#persist(
        client,
        'mutation ($input: CreateSleeptimeGroupInput!) { createSleeptimeGroup(input: $input) { __typename } }',
        { agentId, frequency: 2, idempotencyKey: randomUUID() },
      )
    return agentId
  }

  async #act(client: number, agentId: string): Promise<void> {
    let last: string | undefined
    for (let turn = 0; !this.#stopped; turn += 1) {
      const text = `message ${turn} of client ${client}, use ${['once', 'repeatable', 'picture'][turn % 3]!}`
      const choice = last === undefined ? 0 : Math.floor(Math.random() * 10)
      try {
        if (choice === 7) last = (await this.#edit(client, agentId, last!, text)) ?? last
        else if (choice === 8) last = (await this.#regenerate(client, agentId, last!)) ?? last
        else if (choice === 9) await this.#compact(client, agentId)
        else last = (await this.#send(client, agentId, text, { isCancelled: choice === 6 })) ?? last
      } catch (error) {
        this.history.faults.push(`client ${client}: ${String(error)}`)
        return
      }
    }
  }

  async #send(
    client: number,
    agentId: string,
    text: string,
    { isCancelled }: { readonly isCancelled: boolean },
  ): Promise<string | undefined> {
    const { sendMessage } = await this.#persist(
      client,
      `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ${accepting} ... on SendMessageSuccess { run { id } } } }`,
      {
        ...{ to: { agentId }, messages: [{ text }], idempotencyKey: randomUUID() },
        ...{ whenBusy: 'ENQUEUE', waitMs: 0 },
      },
    )
    const runId = this.#note(agentId, sendMessage, text)
    if (runId === undefined) return undefined
    if (isCancelled) await this.#cancel(client, runId)
    else if (Math.random() < 0.3) this.#working.push(this.#follow(client, runId))
    await this.#finish(client, runId)
    return runId
  }

  async #edit(client: number, agentId: string, runId: string, text: string): Promise<string | undefined> {
    const { run } = await this.#cluster.ask(
      client,
      'query ($id: ID!) { run(id: $id) { messages { nodes { __typename id } } } }',
      {
        id: runId,
      },
    )
    const message = run.messages.nodes.find((one: { __typename: string }) => one.__typename === 'UserMessage')
    // It was cancelled before it began.
    if (message === undefined) return undefined
    const { editMessage } = await this.#persist(
      client,
      `mutation ($input: EditMessageInput!) { editMessage(input: $input) { ${accepting} ... on EditMessageSuccess { run { id } } } }`,
      { messageId: message.id, message: { text }, idempotencyKey: randomUUID() },
    )
    const edited = this.#note(agentId, editMessage, text)
    if (edited !== undefined) await this.#finish(client, edited)
    return edited
  }

  async #regenerate(client: number, agentId: string, runId: string): Promise<string | undefined> {
    const { regenerate } = await this.#persist(
      client,
      `mutation ($input: RegenerateInput!) { regenerate(input: $input) { ${accepting} ... on RegenerateSuccess { run { id } } } }`,
      { runId, idempotencyKey: randomUUID() },
    )
    const again = this.#note(agentId, regenerate)
    if (again !== undefined) await this.#finish(client, again)
    return again
  }

  async #compact(client: number, agentId: string): Promise<void> {
    const { agent } = await this.#cluster.ask(
      client,
      'query ($id: ID!) { agent(id: $id) { mainConversation { id } } }',
      {
        id: agentId,
      },
    )
    // It takes no key, so a repeated one may compact twice, and nobody counts these runs.
    await this.#persist(
      client,
      `mutation ($input: CompactConversationInput!) { compactConversation(input: $input) { __typename } }`,
      { conversationId: agent.mainConversation.id, waitMs: 5_000 },
    )
  }

  async #cancel(client: number, runId: string): Promise<void> {
    const { cancelRun } = await this.#persist(
      client,
      'mutation ($input: CancelRunInput!) { cancelRun(input: $input) { __typename } }',
      { runId },
    )
    if (cancelRun.__typename === 'CancelRunSuccess') this.history.cancelled.push(runId)
  }

  /** Decides what waits, until the run has ended. */
  async #finish(client: number, runId: string): Promise<void> {
    for (;;) {
      const { run } = await this.#cluster.ask(
        client,
        'query ($id: ID!) { run(id: $id, waitMs: 5000) { status pendingToolCalls { id } error { message } } }',
        { id: runId },
      )
      if (['COMPLETED', 'FAILED', 'CANCELLED'].includes(run.status)) return
      if (run.status !== 'AWAITING_APPROVAL') continue
      const isApproved = Math.random() < 0.7
      const decisions = run.pendingToolCalls.map(({ id }: { id: string }) =>
        isApproved ? { approve: { toolCallId: id } } : { deny: { toolCallId: id } },
      )
      const { submitApprovals } = await this.#persist(
        client,
        'mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename } }',
        { runId, decisions, idempotencyKey: randomUUID() },
      )
      if (submitApprovals.__typename !== 'SubmitApprovalsSuccess') continue
      for (const { id } of run.pendingToolCalls) this.history.decided.set(id, isApproved ? 'APPROVED' : 'DENIED')
    }
  }

  async #follow(client: number, runId: string): Promise<void> {
    const reader = new Reader()
    const document = `subscription ($run: ID!, $after: EventCursor) { runEvents(runId: $run, after: $after) { ${eventFields} } }`
    for (let attempt = 0; reader.end === undefined; attempt += 1) {
      const socket = (await this.#cluster.client(client + attempt)).webSocket({ retryAttempts: 0 })
      try {
        for await (const { data, errors } of socket.stream(document, { run: runId, after: reader.cursor })) {
          if (errors) break
          reader.apply(data!['runEvents'])
        }
      } catch (error) {
        // Reader throws plain errors; a socket that breaks does not.
        if (error instanceof Error && /came|deltas|delta/.test(error.message)) {
          this.history.faults.push(`${runId}: ${error.message}`)
          return
        }
      } finally {
        await socket.dispose()
      }
      await sleep(20)
    }
    this.history.streamed.push({ runId, reader })
  }

  #note(agentId: string, answer: any, text?: string): string | undefined {
    const runId = answer.run?.id as string | undefined
    if (runId !== undefined) this.history.accepted.push({ agentId, runId, text })
    else if (!refusable.has(answer.__typename)) this.history.faults.push(JSON.stringify(answer))
    else if (text !== undefined) this.history.refused.push(text)
    return runId
  }

  #persist(client: number, document: string, input: object): Promise<any> {
    return this.#cluster.ask(client, document, { input })
  }
}

export interface Verdict {
  readonly runs: number
  readonly lost: readonly string[]
  readonly doubled: readonly string[]
  readonly malformed: readonly string[]
  readonly stuck: readonly string[]
}

/** Compares what clients were told with what is stored. */
export async function checkHistory(cluster: CrashCluster, history: History): Promise<Verdict> {
  const client = await cluster.client(0)
  const lost: string[] = []
  const doubled: string[] = []
  const malformed: string[] = []
  const stuck: string[] = []
  const runs = await readRuns(
    client,
    history.accepted.map(({ runId }) => runId),
  )
  const { rows: effects } = await cluster.database.pool.query<{ key: string; times: number }>(
    'select key, count(*)::integer as times from effects group by key',
  )
  const timesOf = new Map(effects.map(({ key, times }) => [key, times]))

  for (const [index, { runId, text }] of history.accepted.entries()) {
    const run = runs[index]
    if (!run) {
      lost.push(`${runId} does not exist`)
      continue
    }
    if (!['COMPLETED', 'FAILED', 'CANCELLED'].includes(run.status)) stuck.push(`${runId} is ${run.status}`)
    const count = run.messages.nodes.filter((message: any) => message.text === text).length
    // A run that was cancelled before it began has no messages.
    if (text !== undefined && count === 0 && run.status !== 'CANCELLED') lost.push(`"${text}" of ${runId}`)
    if (text !== undefined && count > 1) doubled.push(`"${text}" of ${runId}`)
    for (const call of run.steps.flatMap((step: any) => step.toolCalls)) {
      const times = timesOf.get(call.id) ?? 0
      timesOf.delete(call.id)
      const told = history.decided.get(call.id)
      if (!call.result) malformed.push(`${call.id} has no result`)
      if (call.name === 'once' && times > 1) doubled.push(`${call.id} ran ${times} times`)
      if (call.status === 'SUCCEEDED' && times === 0) lost.push(`${call.id} never ran`)
      if (told !== undefined && told !== call.decision?.kind)
        lost.push(`${call.id} was ${told}, and is ${call.decision?.kind}`)
      if (told === 'DENIED' && times > 0) doubled.push(`${call.id} was denied and ran`)
    }
    const open = new Set<string>()
    for (const message of run.messages.nodes) {
      for (const { id } of message.toolCalls ?? []) open.add(id)
      for (const { toolCallId } of message.toolReturns ?? [])
        if (!open.delete(toolCallId)) malformed.push(`${toolCallId} has a second return, or one without a call`)
    }
    if (open.size > 0) malformed.push(`${[...open].join()} of ${runId} have no return`)
    const last = run.messages.nodes.at(-1)?.__typename
    if (run.status === 'COMPLETED' && last !== 'AssistantMessage') malformed.push(`${runId} ends with ${last}`)
  }
  const statusOf = new Map(history.accepted.map(({ runId }, index) => [runId, runs[index]?.status]))
  for (const runId of history.cancelled)
    if (statusOf.get(runId) !== 'CANCELLED') lost.push(`the cancel of ${runId}, which is ${statusOf.get(runId)}`)
  for (const { runId, reader } of history.streamed) {
    const stored = JSON.stringify(await storedTexts(client, runId))
    if (stored !== JSON.stringify(reader.stored)) malformed.push(`${runId} was streamed otherwise than it is stored`)
  }

  // Nothing is there that nobody was told of. Repeated requests had their keys.
  const agents = new Set(history.accepted.map(({ agentId }) => agentId))
  for (const agentId of agents) {
    const known = history.accepted.filter((one) => one.agentId === agentId).map(({ runId }) => runId)
    const { rows } = await cluster.database.pool.query<{ id: string; kind: string; ended: boolean; text: string }>(
      `select 'run_' || replace(id::text, '-', '') as id, kind, ended, status as text from runs where agent_id = $1`,
      [agentId.slice('agent_'.length)],
    )
    for (const { id, kind, ended, text } of rows) {
      if (kind === 'TURN' && !known.includes(id)) doubled.push(`${id}, which nobody was told of`)
      if (!ended) stuck.push(`${id} of kind ${kind} is ${text}`)
    }
  }
  const { rows: told } = await cluster.database.pool.query<{ text: string }>(
    `select distinct content #>> '{content,0,text}' as text from messages where type = 'USER'`,
  )
  const stored = new Set(told.map(({ text }) => text))
  for (const text of history.refused) if (stored.has(text)) doubled.push(`"${text}", which was refused`)
  for (const [call, times] of timesOf) {
    const { rows } = await cluster.database.pool.query('select from tool_calls where id = $1', [call.slice(5)])
    if (rows.length === 0) doubled.push(`${call} ran ${times} times and is stored nowhere`)
  }
  return { runs: history.accepted.length, lost, doubled, malformed, stuck }
}

async function readRuns(client: GraphQLClient, ids: readonly string[]): Promise<any[]> {
  const runs: any[] = []
  for (let start = 0; start < ids.length; start += 10) {
    const { nodes } = await client.data(
      `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Run { id status
        messages(first: 50) { nodes { __typename ... on UserMessage { text } ... on ToolCallMessage { toolCalls { id } }
          ... on ApprovalRequestMessage { toolCalls { id } } ... on ToolReturnMessage { toolReturns { toolCallId } } } }
        steps { toolCalls { id name status decision { kind } result { status } } } } } }`,
      { ids: ids.slice(start, start + 10) },
    )
    runs.push(...nodes)
  }
  return runs
}
