import { HoldpointError, type Client } from '../../client/client.ts'
import { UpsertAgent } from '../../client/documents.ts'
import { changedFields, changesOf, inputOf, type AgentForm } from './agent-form.ts'
import {
  CreateBlock,
  CreateSleeptimeGroup,
  DeleteSleeptimeGroup,
  UpdateAgent,
  UpdateSleeptimeGroup,
  type AgentSettings,
} from './documents.ts'
import { FieldError, numberOf } from './parse.ts'

const blockOf = ({ label, value, description }: AgentForm['newBlocks'][number]) => ({
  label,
  value,
  description: description || null,
})

/** Validated before anything is made. A form without sleeptime does not show the field. */
const frequencyOf = (form: AgentForm): number => (form.hasSleeptime ? (numberOf(form.frequency, 'frequency') ?? 1) : 1)

/** Returns the id of the new agent. A second attempt with the same key changes the agent that the first one made. */
export async function createAgent(client: Client, form: AgentForm, key: string): Promise<string> {
  const frequency = frequencyOf(form)
  const { includeBaseTools, blockIds } = form
  const agent = { ...inputOf(form), includeBaseTools, blocks: form.newBlocks.map(blockOf), blockIds }
  const { upsertAgent } = await client.request(UpsertAgent, { input: { key, agent } })
  const { id, sleeptime } = upsertAgent!.agent
  if (form.hasSleeptime && !sleeptime) await client.request(CreateSleeptimeGroup, { input: { agentId: id, frequency } })
  return id
}

interface Update {
  /** The agent as the server has it now. */
  readonly agent: AgentSettings
  readonly form: AgentForm
  /** The form before the person changed it. */
  readonly base: AgentForm
  /** Called as soon as a new block exists, so that a second attempt does not make it again. */
  readonly blockMade: (id: string) => void
}

/** Saves what the person has changed, and nothing else. */
export async function updateAgent(client: Client, { agent, form, base, blockMade }: Update): Promise<void> {
  const changed = changedFields(form, base)
  const changes = changesOf(form, base)
  const frequency = frequencyOf(form)
  const made: string[] = []
  for (const block of form.newBlocks) {
    const id = await createBlock(client, block)
    made.push(id)
    blockMade(id)
  }
  const blockIds = changed.includes('blockIds') ? form.blockIds : agent.blocks.map(({ id }) => id)
  const input = {
    ...changes,
    ...((made.length > 0 || changed.includes('blockIds')) && { blockIds: [...blockIds, ...made] }),
  }
  if (Object.keys(input).length > 0) await client.request(UpdateAgent, { input: { id: agent.id, ...input } })
  if (!changed.includes('hasSleeptime')) return
  if (form.hasSleeptime && !agent.sleeptime)
    await client.request(CreateSleeptimeGroup, { input: { agentId: agent.id, frequency } })
  else if (!form.hasSleeptime && agent.sleeptime)
    await client.request(DeleteSleeptimeGroup, { input: { id: agent.sleeptime.id } })
  else if (agent.sleeptime && agent.sleeptime.frequency !== frequency) {
    await client.request(UpdateSleeptimeGroup, { input: { id: agent.sleeptime.id, frequency } })
  }
}

/** Those before it are no new blocks any more, so a block that is refused is the first of the form. */
async function createBlock(client: Client, block: AgentForm['newBlocks'][number]): Promise<string> {
  try {
    return (await client.request(CreateBlock, { input: blockOf(block) })).createBlock!.block.id
  } catch (error) {
    if (!(error instanceof HoldpointError) || !error.field) throw error
    const field = error.field.replace('input', 'blocks.0')
    throw new FieldError(field, error.message.replace(`${error.field}: `, ''))
  }
}
