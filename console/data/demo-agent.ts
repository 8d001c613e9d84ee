import type { Client } from '../../client/client.ts'
import { UpsertAgent, UpsertTool } from '../../client/documents.ts'

/**
 * Creates an agent that works offline, with a tool that runs at once and one that needs approval. Returns its main
 * conversation. A second attempt with the same key makes no second agent.
 */
export async function createDemoAgent(client: Client, key: string): Promise<string> {
  await client.request(UpsertTool, {
    input: {
      name: 'demo_dice',
      description: 'Rolls a die.',
      parameters: { type: 'object', properties: { sides: { type: 'integer', minimum: 2 } }, required: ['sides'] },
      implementation: {
        javascript: { source: 'export default ({ sides }) => ({ rolled: 1 + Math.floor(Math.random() * sides) })\n' },
      },
    },
  })
  await client.request(UpsertTool, {
    input: {
      name: 'demo_send_email',
      description: 'Pretends to send an e-mail. Every call needs approval.',
      parameters: {
        type: 'object',
        properties: { to: { type: 'string' }, subject: { type: 'string' } },
        required: ['to', 'subject'],
      },
      requiresApproval: true,
      implementation: { javascript: { source: 'export default ({ to, subject }) => `sent "${subject}" to ${to}`\n' } },
    },
  })
  const { upsertAgent } = await client.request(UpsertAgent, {
    input: {
      key,
      agent: {
        name: 'Demo agent',
        description: 'Uses the scripted demo model: no key and no network are needed.',
        model: 'demo/scripted',
        instructions: 'You show what Holdpoint can do.',
        tools: [{ toolName: 'demo_dice' }, { toolName: 'demo_send_email' }],
        blocks: [
          {
            label: 'human',
            value: 'Just opened the console for the first time.',
            description: 'What is known about the person.',
          },
          { label: 'persona', value: 'Friendly, brief, and fond of examples.', description: 'How the agent speaks.' },
        ],
      },
    },
  })
  return upsertAgent!.agent.mainConversation.id
}
