import { graphql, parse, subscribe, type ExecutionResult } from 'graphql'
import type { KyselyPlugin } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'

import type { Viewer } from '../../src/domain/access/viewer.ts'
import { viewerOf } from '../support/viewer.ts'
import { encodeId } from '../../src/domain/ids.ts'
import { createLoaders } from '../../src/graphql/loaders.ts'
import { schema } from '../../src/graphql/schema.ts'
import { createGround, type Ground } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'

/** In every column that can be large, so that a row that contains it was loaded completely. */
const large = 'LARGE'.repeat(2_000)

let ground: Ground
let viewer: Viewer
let ids: { readonly agent: string; readonly conversation: string; readonly run: string; readonly nodes: string[] }

beforeAll(async () => {
  ground = await createGround()
  const make = createFixtures(ground.db)
  const tenantId = await make.tenant('large')
  viewer = viewerOf(tenantId)
  const agent = await make.agent({ tenant_id: tenantId })
  const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id, is_main: true })
  const message = { role: 'USER', content: [{ text: large }], clientId: null }
  const contents = {
    request: JSON.stringify({
      messages: [message],
      clientTools: [{ name: 'other', description: large, parameters: { type: 'object' } }],
    }),
    metadata: JSON.stringify({ large }),
  }
  const run = await make.run(conversation, {
    ...contents,
    status: 'AWAITING_APPROVAL',
    stop_reason: 'REQUIRES_APPROVAL',
  })
  await make.run(conversation, { ...contents, status: 'COMPLETED', parent_id: run.id, kind: 'SLEEPTIME' })
  const queued = await make.run(conversation, { ...contents, status: 'QUEUED' })
  await ground.db.updateTable('conversations').set({ active_run_id: run.id }).execute()
  await make.step(run, { index: 0 })
  const user = await make.message(run, 'USER', { content: [{ text: large }] })
  const answer = { text: large, provider: { model: 'demo/scripted', data: large } }
  const step = { step_index: 0 }
  await make.message(run, 'REASONING', { ...answer, redacted: false }, step)
  await make.message(run, 'ASSISTANT', { ...answer, interrupted: false }, step)
  await make.message(run, 'APPROVAL_REQUEST', {}, step)
  const columns = { arguments_text: large, arguments: JSON.stringify({ large }) }
  const call = await make.call(run, {
    ...columns,
    step_index: 0,
    ordinal: 0,
    needs: 'APPROVAL',
    status: 'SUCCEEDED',
    decision: JSON.stringify({ kind: 'APPROVED', reason: null, scope: null }),
    decided_at: new Date(),
    edited_arguments: JSON.stringify({ large }),
    result: JSON.stringify({
      status: 'SUCCESS',
      output: large,
      stdout: [large],
      stderr: [],
      truncated: false,
      durationMs: 1,
    }),
  })
  await make.call(run, { ...columns, step_index: 0, ordinal: 1, needs: 'APPROVAL', status: 'PENDING' })
  await make.log(run, 2, [
    { type: 'message', id: user.id },
    { type: 'call', id: call.id, status: 'SUCCEEDED' },
  ])
  ids = {
    agent: encodeId('Agent', agent.id),
    conversation: encodeId('Conversation', conversation.id),
    run: encodeId('Run', run.id),
    nodes: [encodeId('Run', queued.id), encodeId('Message', user.id), encodeId('ToolCall', call.id)],
  }
})
afterAll(() => ground.close())

/** The context of one operation, and the rows that come from the database while it runs. */
function watch() {
  const rows: unknown[] = []
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      rows.push(...result.rows)
      return result
    },
  }
  const db = ground.db.withPlugin(plugin)
  const context = { ...ground.context, db, viewer, loaders: createLoaders(db, viewer) }
  return { context, loaded: () => JSON.stringify(rows).includes(large) }
}

async function ask(document: string): Promise<{ readonly text: string; readonly loaded: boolean }> {
  const { context, loaded } = watch()
  const { data, errors } = await graphql({ schema, source: document, contextValue: context, variableValues: ids })
  if (errors) throw new Error(JSON.stringify(errors))
  return { text: JSON.stringify(data), loaded: loaded() }
}

async function firstEvents(document: string, count: number): Promise<{ readonly loaded: boolean }> {
  const { context, loaded } = watch()
  const events = (await subscribe({
    schema,
    document: parse(document),
    contextValue: context,
    variableValues: ids,
  })) as AsyncGenerator<ExecutionResult>
  for (let taken = 0; taken < count; taken += 1) {
    const { value } = await events.next()
    expect(value.errors).toBeUndefined()
  }
  await events.return(undefined)
  return { loaded: loaded() }
}

const light = {
  runs: '{ runs { nodes { id status answer: stopReason steps { id status } children { id } parent { id } } } }',
  'an agent’s runs': 'query ($agent: ID!) { agent(id: $agent) { runs { nodes { id status } } } }',
  'a conversation’s runs':
    'query ($conversation: ID!) { conversation(id: $conversation) { runs { nodes { id } } activeRun { id } queue { id } } }',
  'a run’s steps, calls and messages': `query ($run: ID!) { run(id: $run) {
    steps { id toolCalls { id name tool { id } result { name } decision { kind } } messages { id position inContext } }
    messages { nodes { id run { id } step { id } } } pendingToolCalls { id name agent { id } conversation { id } }
    children { id status } } }`,
  'a conversation’s messages':
    'query ($conversation: ID!) { conversation(id: $conversation) { messages { nodes { id position __typename } } } }',
  'tool calls': '{ toolCalls { nodes { id name status run { id } step { id } } totalCount } }',
  nodes: 'query ($nodes: [ID!]!) { nodes(ids: $nodes) { id __typename } }',
}

it.each(Object.entries(light))(
  '[READ1] a query of %s loads no large part that it does not show',
  async (_list, document) => {
    expect((await ask(document)).loaded).toBe(false)
  },
)

it('[READ1] an event loads no large part that it does not show', async () => {
  const entries = `subscription ($run: ID!) { runEvents(runId: $run) { cursor
    ... on MessageAdded { message { id position } } ... on ToolCallChanged { toolCall { id status } } } }`
  expect((await firstEvents(entries, 3)).loaded).toBe(false)
  const changes = 'subscription { runChanges(since: "2020-01-01T00:00:00Z") { id status } }'
  expect((await firstEvents(changes, 3)).loaded).toBe(false)
  const inbox = 'subscription { approvalInbox { ... on InboxSnapshot { toolCalls { id name } } } }'
  expect((await firstEvents(inbox, 1)).loaded).toBe(false)
})

const shown = {
  'Run.input': '{ runs { nodes { input { text } } } }',
  'Run.metadata': '{ runs { nodes { metadata } } }',
  'UserMessage.text': 'query ($run: ID!) { run(id: $run) { messages { nodes { ... on UserMessage { text } } } } }',
  'ReasoningMessage.text':
    'query ($run: ID!) { run(id: $run) { messages { nodes { ... on ReasoningMessage { text } } } } }',
  'ToolCall.argumentsText': '{ toolCalls { nodes { argumentsText } } }',
  'ToolCall.arguments': '{ toolCalls { nodes { arguments } } }',
  'ToolCall.editedArguments': '{ toolCalls { nodes { editedArguments } } }',
  'ToolReturn.output': '{ toolCalls { nodes { result { output } } } }',
}

it.each(Object.entries(shown))('[READ1] a query that asks for %s gets it', async (_field, document) => {
  expect((await ask(document)).text).toContain(large)
})
