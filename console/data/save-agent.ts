import type { Client } from '../../client/client.ts'
import { inputOf, type AgentForm } from './agent-form.ts'
import {
  CreateAgent,
  CreateBlock,
  CreateSleeptimeGroup,
  DeleteSleeptimeGroup,
  UpdateAgent,
  UpdateSleeptimeGroup,
  type AgentSettings,
} from './documents.ts'
import { numberOf } from './parse.ts'

const blockOf = ({ label, value, description }: AgentForm['newBlocks'][number]) => ({
  label,
  value,
  description: description || null,
})

/** Returns the id of the new agent. */
export async function createAgent(client: Client, form: AgentForm): Promise<string> {
  const frequency = numberOf(form.frequency, 'frequency') ?? 1
  const result = await client.request(CreateAgent, {
    input: {
      ...inputOf(form),
      includeBaseTools: form.includeBaseTools,
      blocks: form.newBlocks.map(blockOf),
      blockIds: [...form.blockIds],
    },
  })
  const { id } = result.createAgent!.agent
  if (form.hasSleeptime) await client.request(CreateSleeptimeGroup, { input: { agentId: id, frequency } })
  return id
}

export async function updateAgent(client: Client, agent: AgentSettings, form: AgentForm): Promise<void> {
  const input = inputOf(form)
  const frequency = numberOf(form.frequency, 'frequency') ?? 1
  const made: string[] = []
  for (const block of form.newBlocks) {
    const { createBlock } = await client.request(CreateBlock, { input: blockOf(block) })
    made.push(createBlock!.block.id)
  }
  await client.request(UpdateAgent, { input: { id: agent.id, ...input, blockIds: [...form.blockIds, ...made] } })
  if (form.hasSleeptime && !agent.sleeptime)
    await client.request(CreateSleeptimeGroup, { input: { agentId: agent.id, frequency } })
  else if (!form.hasSleeptime && agent.sleeptime)
    await client.request(DeleteSleeptimeGroup, { input: { id: agent.sleeptime.id } })
  else if (agent.sleeptime && agent.sleeptime.frequency !== frequency) {
    await client.request(UpdateSleeptimeGroup, { input: { id: agent.sleeptime.id, frequency } })
  }
}
