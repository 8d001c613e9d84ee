import type { Agent as AgentShape } from '../../domain/agents/agent.ts'
import { exportAgent, maxExportedPassages } from '../../domain/agents/agent-document.ts'
import { listAgentsPage } from '../../store/agents/agents.ts'
import { listPassagesToExport } from '../../store/memory/passages.ts'
import { builder, orNull } from '../builder.ts'
import { CompactionSettings } from '../context/compaction.ts'
import { connectionType, listArguments, pageComplexity } from '../connection.ts'
import { ModelSettings } from '../models/model-settings.ts'
import { Node, queryById } from '../node.ts'
import { ToolRule } from '../tools/tool-rule.ts'

/** Tools, blocks, conversations and runs add their own fields to the agent in their modules. */
export const Agent = builder.objectRef<AgentShape>('Agent')
Agent.implement({
  description: 'A model with instructions, memory blocks and tools. All of its state is stored in the database.',
  interfaces: [Node],
  fields: (t) => ({
    key: t.exposeString(
      'key',
      orNull("The client's own key for the agent, unique in the tenant. Null unless `upsertAgent` set it."),
    ),
    name: t.exposeString('name', { description: 'Display name. Need not be unique.' }),
    description: t.exposeString('description', orNull('Description for people. Null if there is none.')),
    instructions: t.exposeString('instructions', {
      description:
        'Instructions as written. `Context.systemPrompt` shows them compiled with memory blocks and metadata.',
    }),
    model: t.exposeString('model', {
      description: 'Model handle, `provider/name`, such as anthropic/claude-sonnet-4-5, openai/gpt-5 or demo/scripted.',
    }),
    modelSettings: t.expose('modelSettings', { type: ModelSettings, description: 'Settings for model requests.' }),
    toolRules: t.expose('toolRules', {
      type: [ToolRule],
      description: 'Constraints on tool calls. All of them apply together.',
    }),
    compaction: t.expose('compaction', {
      type: CompactionSettings,
      description: 'How the context is shortened when it grows too long.',
    }),
    keepRequests: t.exposeBoolean('keepRequests', {
      description:
        'Whether `Step.request` and `Step.response` are kept, even if the server does not keep them by default.',
    }),
    tags: t.exposeStringList('tags', { description: 'Tags to filter by.' }),
    metadata: t.expose('metadata', {
      type: 'JSON',
      description: "JSON object for the client's own use. Empty by default.",
    }),
    timezone: t.exposeString('timezone', {
      description: 'IANA name of the time zone in which the agent is told the time. Defaults to UTC.',
    }),
    tellTimes: t.exposeBoolean('tellTimes', {
      description: 'Whether the model is told when messages and tool returns happened, in `timezone`.',
    }),
    export: t.field({
      type: 'JSON',
      description:
        'The agent with its settings, blocks, tools and rules as one versioned JSON document for `importAgent`. It contains no secrets and no conversations.',
      args: {
        passages: t.arg.boolean({
          required: true,
          defaultValue: false,
          description: `Whether to include the archive, if it has at most ${maxExportedPassages} passages. Defaults to false.`,
        }),
      },
      resolve: async (agent, { passages }, { db, viewer, loaders }) =>
        exportAgent(agent, {
          blocks: await loaders.blocksOfAgent.load(agent.id),
          tools: await loaders.toolsOfAgent.load(agent.id),
          passages: passages ? await listPassagesToExport(db, viewer, agent.id, maxExportedPassages) : undefined,
        }),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the agent was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: "When the agent's settings, or its attached tools and blocks, last changed.",
    }),
  }),
})

queryById(Agent, 'Agent')

const AgentFilter = builder.inputType('AgentFilter', {
  description: 'Which agents to list. Omitted fields do not filter; all given fields must match.',
  fields: (t) => ({
    nameContains: t.string({ description: 'Part of the name, ignoring case.' }),
    tags: t.stringList({ description: 'Tags that the agent must all have.' }),
    key: t.string({ description: "The client's own key, as given to `upsertAgent`." }),
  }),
})

builder.queryField('agents', (t) =>
  t.field({
    type: connectionType('Agent', Agent),
    description: 'Agents of the tenant.',
    args: listArguments(AgentFilter, 'agents'),
    complexity: pageComplexity,
    resolve: (_root, { filter, ...page }, { db, viewer }) => listAgentsPage(db, viewer, filter ?? {}, page),
  }),
)
