import { createAgent } from '../commands/create-agent.ts'
import { deleteAgent } from '../commands/delete-agent.ts'
import { updateAgent } from '../commands/update-agent.ts'
import { upsertAgent } from '../commands/agents/upsert-agent.ts'
import { checkedToken } from '../domain/runs/run-input.ts'
import { AgentToolInput } from './agent-tool.ts'
import { Agent } from './agent.ts'
import { CreateBlockInput } from './block-mutations.ts'
import { builder } from './builder.ts'
import { CompactionSettingsInput } from './context/compaction.ts'
import { ModelSettingsInput } from './models/model-settings.ts'
import { requireUuid } from './node.ts'
import { deletedPayloadType, payloadType } from './payload.ts'
import { ToolRuleInput } from './tool-rule.ts'

/** Descriptions for a new agent. */
const descriptions = {
  name: 'Display name, 1 to 200 characters. Need not be unique.',
  description: 'Description for people, at most 10,000 characters.',
  instructions: 'Instructions for the model, at most 200,000 characters. Empty by default.',
  model:
    'Model handle, `provider/name`. The model need not be listed by `models`, but its provider must be configured.',
  modelSettings: 'Settings for model requests.',
  tools: 'Tools to attach, at most 200.',
  toolRules: 'Constraints on tool calls, at most 200. They may name only tools of the agent.',
  blockIds: 'Ids of existing blocks to attach.',
  compaction: 'How the context is shortened when it grows too long.',
  tags: 'Tags to filter by: at most 50, each at most 64 characters.',
  metadata: "JSON object for the client's own use, at most 64 KB. Empty by default.",
  timezone: 'IANA name of the time zone in which the agent is told the time. Defaults to UTC.',
  keepRequests: 'Whether `Step.request` and `Step.response` are kept. Defaults to false.',
  tellTimes:
    'Whether the model is told when messages and tool returns happened, in the time zone of `timezone`. Defaults to false.',
}

/** Descriptions for a change: the same fields, but null has a meaning, and lists are replaced as a whole. */
const changes: typeof descriptions = {
  name: 'Display name, 1 to 200 characters. Must not be null.',
  description: 'Description for people, at most 10,000 characters. Null removes it.',
  instructions: 'Instructions for the model, at most 200,000 characters. Null empties them.',
  model: 'Model handle, `provider/name`. Must not be null.',
  modelSettings: 'Settings for model requests. Omitted settings stay unchanged.',
  tools: 'All tools of the agent, at most 200.',
  toolRules: 'All tool rules of the agent, at most 200. They may name only tools of the agent.',
  blockIds: 'Ids of all blocks of the agent, at most 100.',
  compaction: 'How the context is shortened when it grows too long. Omitted settings stay unchanged.',
  tags: 'All tags of the agent: at most 50, each at most 64 characters.',
  metadata: "JSON object for the client's own use, at most 64 KB. It replaces the whole object; null empties it.",
  timezone: 'IANA name of the time zone in which the agent is told the time. Null means UTC.',
  keepRequests: 'Whether `Step.request` and `Step.response` are kept. Null means false.',
  tellTimes:
    'Whether the model is told when messages and tool returns happened, in the time zone of `timezone`. Null means false.',
}

const CreateAgentInput = builder.inputType('CreateAgentInput', {
  description: 'A new agent.',
  fields: (t) => ({
    name: t.string({ required: true, description: descriptions.name }),
    description: t.string({ description: descriptions.description }),
    instructions: t.string({ required: true, defaultValue: '', description: descriptions.instructions }),
    model: t.string({ required: true, description: descriptions.model }),
    modelSettings: t.field({ type: ModelSettingsInput, description: descriptions.modelSettings }),
    tools: t.field({ type: [AgentToolInput], description: descriptions.tools }),
    toolRules: t.field({ type: [ToolRuleInput], description: descriptions.toolRules }),
    blocks: t.field({
      type: [CreateBlockInput],
      description: 'New blocks to create and attach. An agent has at most 100 blocks, each with a different label.',
    }),
    blockIds: t.idList({ description: descriptions.blockIds }),
    compaction: t.field({ type: CompactionSettingsInput, description: descriptions.compaction }),
    tags: t.stringList({ description: descriptions.tags }),
    metadata: t.field({ type: 'JSON', description: descriptions.metadata }),
    timezone: t.string({ description: descriptions.timezone }),
    keepRequests: t.boolean({ description: descriptions.keepRequests }),
    tellTimes: t.boolean({ description: descriptions.tellTimes }),
    includeBaseTools: t.boolean({
      required: true,
      defaultValue: true,
      description: 'Whether to attach the built-in memory tools. Defaults to true.',
    }),
  }),
})

const UpdateAgentInput = builder.inputType('UpdateAgentInput', {
  description:
    'Changes to an agent. Omitted fields stay unchanged, null restores the default, and lists are replaced as a whole.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'Id of the agent.' }),
    name: t.string({ description: changes.name }),
    description: t.string({ description: changes.description }),
    instructions: t.string({ description: changes.instructions }),
    model: t.string({ description: changes.model }),
    modelSettings: t.field({ type: ModelSettingsInput, description: changes.modelSettings }),
    tools: t.field({ type: [AgentToolInput], description: changes.tools }),
    toolRules: t.field({ type: [ToolRuleInput], description: changes.toolRules }),
    blockIds: t.idList({ description: changes.blockIds }),
    compaction: t.field({ type: CompactionSettingsInput, description: changes.compaction }),
    tags: t.stringList({ description: changes.tags }),
    metadata: t.field({ type: 'JSON', description: changes.metadata }),
    timezone: t.string({ description: changes.timezone }),
    keepRequests: t.boolean({ description: changes.keepRequests }),
    tellTimes: t.boolean({ description: changes.tellTimes }),
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
  description: 'The agent to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Id of the agent.' }) }),
})

/** Replaces public ids by internal ones, in lists that may be omitted. */
function partsOf(input: {
  tools?: readonly { toolId: string; approvalOverride?: boolean | null | undefined }[] | null | undefined
  blockIds?: readonly string[] | null | undefined
}) {
  return {
    tools: input.tools?.map((tool) => ({ ...tool, toolId: requireUuid('Tool', tool.toolId) })) ?? nullish(input.tools),
    blockIds: input.blockIds?.map((id) => requireUuid('Block', id)) ?? nullish(input.blockIds),
  }
}

/** An update distinguishes null from an omitted list. */
function nullish(value: unknown): null | undefined {
  return value === null ? null : undefined
}

builder.mutationFields((t) => ({
  createAgent: t.field({
    type: payloadType('CreateAgentPayload', 'agent', Agent, 'The new agent.'),
    nullable: true,
    description: 'Creates an agent with its main conversation.',
    args: { input: t.arg({ type: CreateAgentInput, required: true, description: 'A new agent.' }) },
    resolve: (_root, { input }, context) => createAgent(context, context.viewer, { ...input, ...partsOf(input) }),
  }),
  updateAgent: t.field({
    type: payloadType('UpdateAgentPayload', 'agent', Agent, 'The changed agent.'),
    nullable: true,
    description: 'Changes the settings of an agent.',
    args: {
      input: t.arg({
        type: UpdateAgentInput,
        required: true,
        description:
          'Changes to an agent. Omitted fields stay unchanged, null restores the default, and lists are replaced as a whole.',
      }),
    },
    resolve: (_root, { input }, context) =>
      updateAgent(context, context.viewer, { ...input, ...partsOf(input), id: requireUuid('Agent', input.id) }),
  }),
  upsertAgent: t.field({
    type: payloadType('UpsertAgentPayload', 'agent', Agent, 'The new or replaced agent.'),
    nullable: true,
    description:
      "Creates the agent with the client's own key, or replaces the settings of the existing one. Its conversations and blocks stay; a given block is added only if its label is new.",
    args: { input: t.arg({ type: UpsertAgentInput, required: true, description: 'An agent to create or replace.' }) },
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
      'Deletes an agent, its conversations and the background agent made for it. Its tools and shared blocks stay.',
    args: { input: t.arg({ type: DeleteAgentInput, required: true, description: 'The agent to delete.' }) },
    async resolve(_root, { input }, context) {
      await deleteAgent(context, context.viewer, { id: requireUuid('Agent', input.id) })
      return input.id
    },
  }),
}))
