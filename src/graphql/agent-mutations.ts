import { createAgent } from '../commands/create-agent.ts'
import { deleteAgent } from '../commands/delete-agent.ts'
import { updateAgent } from '../commands/update-agent.ts'
import { upsertAgent } from '../commands/upsert-agent.ts'
import { checkedToken } from '../domain/run-input.ts'
import { AgentToolInput } from './agent-tool.ts'
import { Agent } from './agent.ts'
import { CreateBlockInput } from './block-mutations.ts'
import { builder } from './builder.ts'
import { CompactionSettingsInput } from './compaction.ts'
import { ModelSettingsInput } from './model-settings.ts'
import { requireUuid } from './node.ts'
import { deletedPayloadType, payloadType } from './payload.ts'
import { ToolRuleInput } from './tool-rule.ts'

const descriptions = {
  name: 'For people, 1 to 200 characters. Need not be unique.',
  description: 'For people, 10,000 characters at the most.',
  instructions: 'What the model is told, 200,000 characters at the most.',
  model: 'A model handle, provider/name, as `models` lists them.',
  modelSettings: 'How the model is asked.',
  tools: 'What it can do: 200 tools at the most.',
  toolRules: 'Which tools may be called when. They may name only tools that the agent has.',
  blockIds: 'Blocks that exist. An agent has 100 blocks at the most, each with a label of its own.',
  compaction: 'How a context that grew too long is made short again.',
  tags: 'Words to find it by: 50 at the most, each of 64 characters at the most.',
  metadata: "A JSON object that is the client's own, 64 KB at the most.",
  timezone: 'The IANA name of the time zone in which it is told the time; UTC by default.',
}

const CreateAgentInput = builder.inputType('CreateAgentInput', {
  description: 'An agent to make.',
  fields: (t) => ({
    name: t.string({ required: true, description: descriptions.name }),
    description: t.string({ description: descriptions.description }),
    instructions: t.string({ required: true, defaultValue: '', description: descriptions.instructions }),
    model: t.string({ required: true, description: descriptions.model }),
    modelSettings: t.field({ type: ModelSettingsInput, description: descriptions.modelSettings }),
    tools: t.field({ type: [AgentToolInput], description: descriptions.tools }),
    toolRules: t.field({ type: [ToolRuleInput], description: descriptions.toolRules }),
    blocks: t.field({ type: [CreateBlockInput], description: 'Blocks to make for it.' }),
    blockIds: t.idList({ description: descriptions.blockIds }),
    compaction: t.field({ type: CompactionSettingsInput, description: descriptions.compaction }),
    tags: t.stringList({ description: descriptions.tags }),
    metadata: t.field({ type: 'JSON', description: descriptions.metadata }),
    timezone: t.string({ description: descriptions.timezone }),
    includeBaseTools: t.boolean({ required: true, defaultValue: true, description: 'Attach the memory tools.' }),
  }),
})

const UpdateAgentInput = builder.inputType('UpdateAgentInput', {
  description: 'What is left out stays as it is, also inside nested settings; null clears. Lists replace.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'agent_…' }),
    name: t.string({ description: descriptions.name }),
    description: t.string({ description: descriptions.description }),
    instructions: t.string({ description: descriptions.instructions }),
    model: t.string({ description: descriptions.model }),
    modelSettings: t.field({ type: ModelSettingsInput, description: descriptions.modelSettings }),
    tools: t.field({ type: [AgentToolInput], description: descriptions.tools }),
    toolRules: t.field({ type: [ToolRuleInput], description: descriptions.toolRules }),
    blockIds: t.idList({ description: descriptions.blockIds }),
    compaction: t.field({ type: CompactionSettingsInput, description: descriptions.compaction }),
    tags: t.stringList({ description: descriptions.tags }),
    metadata: t.field({ type: 'JSON', description: descriptions.metadata }),
    timezone: t.string({ description: descriptions.timezone }),
  }),
})

const UpsertAgentInput = builder.inputType('UpsertAgentInput', {
  description: 'An agent to create or replace.',
  fields: (t) => ({
    key: t.string({
      required: true,
      description: "The client's own key for the agent, 1 to 200 characters, unique in the tenant.",
    }),
    agent: t.field({
      type: CreateAgentInput,
      required: true,
      description: 'All settings of the agent. Omitted settings get their defaults, also if the agent exists.',
    }),
  }),
})

const DeleteAgentInput = builder.inputType('DeleteAgentInput', {
  description: 'Which agent to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'agent_…' }) }),
})

/** Ids as the store has them, in lists that may be left out. */
function partsOf(input: {
  tools?: readonly { toolId: string; approvalOverride?: boolean | null | undefined }[] | null | undefined
  blockIds?: readonly string[] | null | undefined
}) {
  return {
    tools: input.tools?.map((tool) => ({ ...tool, toolId: requireUuid('Tool', tool.toolId) })) ?? nullish(input.tools),
    blockIds: input.blockIds?.map((id) => requireUuid('Block', id)) ?? nullish(input.blockIds),
  }
}

/** Null and undefined mean different things to whoever updates. */
function nullish(value: unknown): null | undefined {
  return value === null ? null : undefined
}

builder.mutationFields((t) => ({
  createAgent: t.field({
    type: payloadType('CreateAgentPayload', 'agent', Agent, 'The new agent.'),
    nullable: true,
    description: 'Makes an agent with its main conversation.',
    args: { input: t.arg({ type: CreateAgentInput, required: true, description: 'What it is to be.' }) },
    resolve: (_root, { input }, context) => createAgent(context, context.viewer, { ...input, ...partsOf(input) }),
  }),
  updateAgent: t.field({
    type: payloadType('UpdateAgentPayload', 'agent', Agent, 'The changed agent.'),
    nullable: true,
    description: 'Changes an agent. A run that goes on sees it at its next step.',
    args: { input: t.arg({ type: UpdateAgentInput, required: true, description: 'What changes.' }) },
    resolve: (_root, { input }, context) =>
      updateAgent(context, context.viewer, { ...input, ...partsOf(input), id: requireUuid('Agent', input.id) }),
  }),
  upsertAgent: t.field({
    type: payloadType('UpsertAgentPayload', 'agent', Agent, 'The new or replaced agent.'),
    nullable: true,
    description:
      "Creates the agent with the client's own key, or replaces the settings of the existing one. Its conversations and blocks stay; a given block is added only if its label is new.",
    args: { input: t.arg({ type: UpsertAgentInput, required: true, description: 'Key and settings.' }) },
    resolve: (_root, { input: { key, agent } }, context) =>
      upsertAgent(context, context.viewer, {
        key: checkedToken('input.key', key)!,
        agent: { ...agent, ...partsOf(agent) },
      }),
  }),
  deleteAgent: t.field({
    type: deletedPayloadType('DeleteAgentPayload', 'Id of the deleted agent.'),
    nullable: true,
    description:
      'Deletes an agent with its conversations, runs and messages, and the agent that was made to work for it in the background. Its blocks and tools stay.',
    args: { input: t.arg({ type: DeleteAgentInput, required: true, description: 'Which one.' }) },
    async resolve(_root, { input }, context) {
      await deleteAgent(context, context.viewer, { id: requireUuid('Agent', input.id) })
      return input.id
    },
  }),
}))
