import type { Client } from '../../client/client.ts'
import { inputOf, type AgentForm } from './agent-form.ts'
import {
  CreateBlock,
  CreateSleeptimeGroup,
  DeleteSleeptimeGroup,
  UpdateAgent,
  UpdateSleeptimeGroup,
  UpsertAgent,
  type AgentSettings,
} from './documents.ts'
import { numberOf } from './parse.ts'

const blockOf = ({ label, value, description }: AgentForm['newBlocks'][number]) => ({
  label,
  value,
  description: description || null,
})

/** Returns the id of the new agent. A second attempt with the same key changes the agent that the first one made. */
export async function createAgent(client: Client, form: AgentForm, key: string): Promise<string> {
  const frequency = numberOf(form.frequency, 'frequency') ?? 1
  const { includeBaseTools, blockIds } = form
  const agent = { ...inputOf(form), includeBaseTools, blocks: form.newBlocks.map(blockOf), blockIds }
  const { upsertAgent } = await client.request(UpsertAgent, { input: { key, agent } })
  const { id, sleeptime } = upsertAgent!.agent
  if (form.hasSleeptime && !sleeptime) await client.request(CreateSleeptimeGroup, { input: { agentId: id, frequency } })
  return id
}

/** Tells the id of each new block as soon as it exists, so that a second attempt does not make it again. */
export async function updateAgent(
  client: Client,
  agent: AgentSettings,
  form: AgentForm,
  blockMade: (id: string) => void,
): Promise<void> {
  const input = inputOf(form)
  const frequency = numberOf(form.frequency, 'frequency') ?? 1
  const made: string[] = []
  for (const block of form.newBlocks) {
    const { createBlock } = await client.request(CreateBlock, { input: blockOf(block) })
    made.push(createBlock!.block.id)
    blockMade(createBlock!.block.id)
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
