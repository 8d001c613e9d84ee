import { expect } from 'vitest'

import { createClient, type Client } from '../../client/index.ts'
import { startTestApp, type TestApp, type TestAppOptions } from '../support/app.ts'

export interface AdapterGround {
  readonly server: TestApp
  readonly client: Client
  /** A new conversation with an agent of the demo model whose tool `pay` needs approval. */
  startConversation(options?: { readonly model?: string }): Promise<string>
  startAgent(options?: { readonly model?: string }): Promise<{ readonly id: string; readonly conversationId: string }>
  /** What somebody else does about the call that waits in a conversation. */
  decideElsewhere(conversationId: string, decision: 'approve' | 'deny'): Promise<void>
  /** The texts and answers of the current branch, which the model reads, and how many runs there have been. */
  branchOf(conversationId: string): Promise<{ readonly texts: readonly string[]; readonly runs: number }>
  stop(): Promise<void>
}

const pay = {
  name: 'pay',
  description: 'Pays an amount.',
  parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  requiresApproval: true,
  run: ({ amount }: { readonly amount?: unknown }) => `paid ${String(amount)}`,
}

const inspect = {
  name: 'inspect',
  description: 'Returns JSON.',
  parameters: { type: 'object' },
  run: () => ({ colour: 'red', sizes: [1, 2] }),
}

const picture = {
  name: 'picture',
  description: 'Returns an image.',
  parameters: { type: 'object' },
  run: () => ({ content: [{ text: 'A dot.' }, { imageUrl: `data:image/png;base64,${btoa('pixels')}` }] }),
}

const waiting = `query ($id: ID!) { conversation(id: $id) { latestRun { id pendingToolCalls { id } } } }`
const submit = `mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename } }`
const branch = `query ($id: ID!) { conversation(id: $id) { runs { totalCount }
  messages { nodes { ... on UserMessage { text } ... on AssistantMessage { text } } } } }`

export async function startAdapterGround(options: TestAppOptions = {}): Promise<AdapterGround> {
  const server = await startTestApp({ tools: [pay, inspect, picture], ...options })
  const names = '{ tools(filter: { names: ["pay", "inspect", "picture"] }) { nodes { id } } }'
  const { tools } = await server.data(names)
  const startAgent: AdapterGround['startAgent'] = async ({ model = 'demo/scripted' } = {}) => {
    const attached = tools.nodes.map(({ id }: any) => ({ toolId: id }))
    const input = { name: 'Ada', model, includeBaseTools: false, tools: attached }
    const { createAgent } = await server.data(
      'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id mainConversation { id } } } }',
      { input },
    )
    return { id: createAgent.agent.id, conversationId: createAgent.agent.mainConversation.id }
  }
  return {
    server,
    client: createClient({ url: server.url }),
    startAgent,
    startConversation: async (agent) => (await startAgent(agent)).conversationId,
    async decideElsewhere(id, decision) {
      const { latestRun } = (await server.data(waiting, { id })).conversation
      const toolCallId = latestRun.pendingToolCalls[0].id
      const decisions = [decision === 'approve' ? { approve: { toolCallId } } : { deny: { toolCallId, reason: 'No.' } }]
      const { submitApprovals } = await server.data(submit, { input: { runId: latestRun.id, decisions } })
      expect(submitApprovals.__typename).toBe('SubmitApprovalsSuccess')
    },
    async branchOf(id) {
      const { conversation } = await server.data(branch, { id })
      return {
        texts: conversation.messages.nodes.flatMap(({ text }: any) => text ?? []),
        runs: conversation.runs.totalCount,
      }
    },
    stop: () => server.stop(),
  }
}
