import { createAgent } from '../../commands/agents/create-agent.ts'
import { deleteAgent } from '../../commands/agents/delete-agent.ts'
import { updateAgent } from '../../commands/agents/update-agent.ts'
import { upsertAgent } from '../../commands/agents/upsert-agent.ts'
import { checkedToken } from '../../domain/runs/run-input.ts'
import { builder } from '../builder.ts'
import { CompactionSettingsInput } from '../context/compaction.ts'
import { boolean, given, id, ids, json, of, string, strings } from '../fields.ts'
import { CreateBlockInput } from '../memory/block.ts'
import { ModelSettingsInput } from '../models/model-settings.ts'
import { deletion, idempotencyKeyField, mutation, payload } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { AgentToolInput, toolOf } from '../tools/agent-tool.ts'
import { ToolRuleInput } from '../tools/tool-rule.ts'
import { Agent } from './agent.ts'

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
const settings = (texts: typeof descriptions) => ({
  description: string(texts.description),
  embeddingModel: string(texts.embeddingModel),
  modelSettings: of(ModelSettingsInput)(texts.modelSettings),
  tools: of([AgentToolInput])(texts.tools),
  toolRules: of([ToolRuleInput])(texts.toolRules),
  blockIds: ids(texts.blockIds),
  compaction: of(CompactionSettingsInput)(texts.compaction),
  tags: strings(texts.tags),
  metadata: json(texts.metadata),
  timezone: string(texts.timezone),
  keepRequests: boolean(texts.keepRequests),
  tellTimes: boolean(texts.tellTimes),
})

const CreateAgentInput = builder.inputType('CreateAgentInput', {
  description: 'A new agent.',
  fields: given({
    ...settings(descriptions),
    name: string.required(descriptions.name),
    instructions: string.withDefault('', descriptions.instructions),
    model: string.required(descriptions.model),
    blocks: of([CreateBlockInput])(
      'New blocks to create and attach. An agent has at most 100 blocks, each with a different label.',
    ),
    includeBaseTools: boolean.withDefault(true, 'Whether to attach the built-in memory tools. Defaults to true.'),
    idempotencyKey: idempotencyKeyField,
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
    fields: {
      id: id.required('Id of the agent.'),
      ...settings(changes),
      name: string(changes.name),
      instructions: string(changes.instructions),
      model: string(changes.model),
    },
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
    fields: {
      key: string.required("The client's own key for the agent, 1 to 200 characters, unique in the tenant."),
      agent: of(CreateAgentInput).required(
        'All settings of the agent. Omitted settings get their defaults, also if the agent exists.',
      ),
    },
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
