import { createClient, type Client } from '../../client/index.ts'
import { startTestApp, type TestApp, type TestAppOptions } from '../support/app.ts'

export interface AdapterGround {
  readonly server: TestApp
  readonly client: Client
  /** A new conversation with an agent of the demo model whose tool `pay` needs approval. */
  startConversation(options?: { readonly model?: string }): Promise<string>
  stop(): Promise<void>
}

const pay = {
  name: 'pay',
  description: 'Pays an amount.',
  parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  requiresApproval: true,
  run: ({ amount }: { readonly amount?: unknown }) => `paid ${String(amount)}`,
}

export async function startAdapterGround(options: TestAppOptions = {}): Promise<AdapterGround> {
  const server = await startTestApp({ tools: [pay], ...options })
  const { tools } = await server.data('{ tools(filter: { nameContains: "pay" }) { nodes { id } } }')
  return {
    server,
    client: createClient({ url: server.url }),
    async startConversation({ model = 'demo/scripted' } = {}) {
      const input = { name: 'Ada', model, includeBaseTools: false, tools: [{ toolId: tools.nodes[0].id }] }
      const { createAgent } = await server.data(
        'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { mainConversation { id } } } }',
        { input },
      )
      return createAgent.agent.mainConversation.id
    },
    stop: () => server.stop(),
  }
}
