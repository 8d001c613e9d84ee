import { createAgent } from '../../commands/agents/create-agent.ts'
import { deleteAgent } from '../../commands/agents/delete-agent.ts'
import { updateAgent } from '../../commands/agents/update-agent.ts'
import { upsertAgent } from '../../commands/agents/upsert-agent.ts'
import { checkedToken } from '../../domain/runs/run-input.ts'
import { AgentToolInput, toolOf } from '../tools/agent-tool.ts'
import { Agent } from './agent.ts'
import { CreateBlockInput } from '../memory/block.ts'
import { builder, type InputFieldBuilder } from '../builder.ts'
import { CompactionSettingsInput } from '../context/compaction.ts'
import { ModelSettingsInput } from '../models/model-settings.ts'
import { deletion, idempotencyKeyField, mutation, payload } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { ToolRuleInput } from '../tools/tool-rule.ts'

/** Descriptions for a new agent. */
const descriptions = {
  name: 'Display name, 1 to 200 characters. Need not be unique.',
  description: 'Description for people, at most 10,000 characters.',
  instructions: 'Instructions for the model, at most 200,000 characters. Empty by default.',
  model:
    'Model handle, `provider/name`. The model need not be listed by `models`, but its provider must be configured.',
  embeddingModel:
    'Model handle that embeds the archive, such as openai/text-embedding-3-small or demo/embedding. Null, the default: passages are found by their words alone.',
  modelSettings: 'Settings for model requests.',
  tools: 'Tools to attach, at most 200. A tool that is given by id and by name is attached once.',
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
  embeddingModel:
    'Model handle that embeds the archive. The archive is embedded again, and the old vectors serve meanwhile. Null: passages are found by their words alone.',
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

/** The fields that may be omitted in both. */
const settings = (t: InputFieldBuilder, texts: typeof descriptions) => ({
  description: t.string({ description: texts.description }),
  embeddingModel: t.string({ description: texts.embeddingModel }),
  modelSettings: t.field({ type: ModelSettingsInput, description: texts.modelSettings }),
  tools: t.field({ type: [AgentToolInput], description: texts.tools }),
  toolRules: t.field({ type: [ToolRuleInput], description: texts.toolRules }),
  blockIds: t.idList({ description: texts.blockIds }),
  compaction: t.field({ type: CompactionSettingsInput, description: texts.compaction }),
  tags: t.stringList({ description: texts.tags }),
  metadata: t.field({ type: 'JSON', description: texts.metadata }),
  timezone: t.string({ description: texts.timezone }),
  keepRequests: t.boolean({ description: texts.keepRequests }),
  tellTimes: t.boolean({ description: texts.tellTimes }),
})

const CreateAgentInput = builder.inputType('CreateAgentInput', {
  description: 'A new agent.',
  fields: (t) => ({
    ...settings(t, descriptions),
    name: t.string({ required: true, description: descriptions.name }),
    instructions: t.string({ required: true, defaultValue: '', description: descriptions.instructions }),
    model: t.string({ required: true, description: descriptions.model }),
    blocks: t.field({
      type: [CreateBlockInput],
      description: 'New blocks to create and attach. An agent has at most 100 blocks, each with a different label.',
    }),
    includeBaseTools: t.boolean({
      required: true,
      defaultValue: true,
      description: 'Whether to attach the built-in memory tools. Defaults to true.',
    }),
    idempotencyKey: t.string(idempotencyKeyField),
  }),
})

/** Replaces public ids by internal ones, in lists that may be omitted. */
function partsOf(input: {
  tools?: readonly (typeof AgentToolInput.$inferInput)[] | null | undefined
  blockIds?: readonly string[] | null | undefined
}) {
  return {
    tools: input.tools?.map(toolOf) ?? nullish(input.tools),
    blockIds: input.blockIds?.map((id) => requireUuid('Block', id)) ?? nullish(input.blockIds),
  }
}

/** An update distinguishes null from an omitted list. */
function nullish(value: unknown): null | undefined {
  return value === null ? null : undefined
}

mutation('createAgent', {
  description: 'Creates an agent with its main conversation.',
  input: CreateAgentInput,
  result: payload('agent', Agent, 'The new agent.'),
  resolve: (input, context) => createAgent(context, context.viewer, { ...input, ...partsOf(input) }),
})

mutation('updateAgent', {
  description: 'Changes the settings of an agent.',
  input: {
    description:
      'Changes to an agent. Omitted fields stay unchanged, null restores the default, and lists are replaced as a whole.',
    fields: (t) => ({
      id: t.id({ required: true, description: 'Id of the agent.' }),
      ...settings(t, changes),
      name: t.string({ description: changes.name }),
      instructions: t.string({ description: changes.instructions }),
      model: t.string({ description: changes.model }),
    }),
  },
  result: payload('agent', Agent, 'The changed agent.'),
  resolve: (input, context) =>
    updateAgent(context, context.viewer, { ...input, ...partsOf(input), id: requireUuid('Agent', input.id) }),
})

mutation('upsertAgent', {
  description:
    "Creates the agent with the client's own key, or replaces the settings of the existing one. Its conversations and blocks stay; a given block is added only if its label is new.",
  input: {
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
  },
  result: payload('agent', Agent, 'The new or replaced agent.'),
  resolve: ({ key, agent }, context) =>
    upsertAgent(context, context.viewer, {
      key: checkedToken('input.key', key)!,
      agent: { ...agent, ...partsOf(agent) },
    }),
})

deletion('deleteAgent', {
  description:
    'Deletes an agent, its conversations and the background agent made for it. Its tools and shared blocks stay.',
  kind: 'Agent',
  command: deleteAgent,
})
