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

/**
 * Returns the id of the new agent. If only the rest fails, `made` has the id, and the next attempt changes that agent.
 */
export async function createAgent(client: Client, form: AgentForm, made: { id?: string }): Promise<string> {
  const frequency = numberOf(form.frequency, 'frequency') ?? 1
  const { tools, ...input } = inputOf(form)
  if (made.id === undefined) {
    const blocks = form.newBlocks.map(blockOf)
    const { createAgent } = await client.request(CreateAgent, {
      input: { ...input, tools, includeBaseTools: form.includeBaseTools, blocks, blockIds: [...form.blockIds] },
    })
    made.id = createAgent!.agent.id
  } else await client.request(UpdateAgent, { input: { id: made.id, ...input } })
  if (form.hasSleeptime) await client.request(CreateSleeptimeGroup, { input: { agentId: made.id, frequency } })
  return made.id
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
