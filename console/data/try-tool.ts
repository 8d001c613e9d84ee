import type { Client } from '../../client/client.ts'
import type { ToolCallFields } from '../../client/documents.ts'
import { CreateAgent, DeleteAgent, LeftTrials, TryTool } from './documents.ts'
import { Refused } from './use-action.ts'

/** How long a trial waits for the tool. */
const waitMs = 70_000

/**
 * Runs a tool once, through an agent with the scripted demo model that exists only for this call. The same request
 * deletes the agent, so it goes also if the person has closed the page meanwhile.
 */
export async function tryTool(
  client: Client,
  tool: { readonly id: string; readonly name: string },
  args: unknown,
): Promise<ToolCallFields> {
  const { createAgent } = await client.request(CreateAgent, {
    input: {
      name: `Trial of ${tool.name}`,
      model: 'demo/scripted',
      includeBaseTools: false,
      tags: ['console-trial'],
      tools: [{ toolId: tool.id, approvalOverride: false }],
    },
  })
  const agentId = createAgent!.agent.id
  const messages = [{ text: `call ${tool.name} ${JSON.stringify(args)}` }]
  const { sendMessage } = await client.request(TryTool, {
    input: { to: { agentId }, messages, maxSteps: 1, waitMs },
    agentId,
  })
  if (sendMessage!.__typename !== 'SendMessageSuccess') throw new Refused(sendMessage!.message)
  const call = sendMessage!.run.steps[0]?.toolCalls[0]
  if (!call) throw new Refused(sendMessage!.run.error?.message ?? 'The tool was not called.')
  return call
}

/** Deletes the agents of trials that a killed browser or server has left behind. */
export async function deleteLeftTrials(client: Client): Promise<void> {
  const { agents } = await client.request(LeftTrials, {})
  const left = agents.nodes.filter(({ createdAt }) => Date.now() - Date.parse(createdAt) > 2 * waitMs)
  await Promise.all(left.map(({ id }) => client.request(DeleteAgent, { input: { id } })))
}
