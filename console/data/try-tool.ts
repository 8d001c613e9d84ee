import type { Client } from '../../client/client.ts'
import type { ToolCallFields } from '../../client/documents.ts'
import { CreateAgent, DeleteAgent, TryTool } from './documents.ts'
import { Refused } from './use-action.ts'

/** Runs a tool once, through an agent with the scripted demo model that exists only for this call. */
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
      tools: [{ toolId: tool.id, approvalOverride: false }],
    },
  })
  const agentId = createAgent!.agent.id
  try {
    const { sendMessage } = await client.request(TryTool, {
      input: {
        to: { agentId },
        messages: [{ text: `call ${tool.name} ${JSON.stringify(args)}` }],
        maxSteps: 1,
        waitMs: 70_000,
      },
    })
    if (sendMessage!.__typename !== 'SendMessageSuccess') throw new Refused(sendMessage!.message)
    const call = sendMessage!.run.steps[0]?.toolCalls[0]
    if (!call) throw new Refused(sendMessage!.run.error?.message ?? 'The tool was not called.')
    return call
  } finally {
    await client.request(DeleteAgent, { input: { id: agentId } })
  }
}
