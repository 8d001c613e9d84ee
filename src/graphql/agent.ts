import type { Agent as AgentShape } from '../domain/agent.ts'
import { exportAgent } from '../domain/agents/agent-document.ts'
import { encodeId } from '../domain/ids.ts'
import { countAgents, listAgentsPage } from '../store/agents.ts'
import { builder } from './builder.ts'
import { CompactionSettings } from './context/compaction.ts'
import { connectionType, pageArguments, pageComplexity } from './connection.ts'
import { ModelSettings } from './models/model-settings.ts'
import { Node, registerNode, uuidOf } from './node.ts'
import { ToolRule } from './tool-rule.ts'

/** Tools, blocks, conversations and runs add their own fields to the agent in their modules. */
export const Agent = builder.objectRef<AgentShape>('Agent')
Agent.implement({
  description: 'A model with instructions, memory blocks and tools. All of its state is stored in the database.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'Id of the agent.', resolve: (agent) => encodeId('Agent', agent.id) }),
    key: t.exposeString('key', {
      nullable: true,
      description: "The client's own key for the agent, unique in the tenant. Null unless `upsertAgent` set it.",
    }),
    name: t.exposeString('name', { description: 'Display name. Need not be unique.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'Description for people. Null if there is none.',
    }),
    instructions: t.exposeString('instructions', {
      description:
        'Instructions as written. `Context.systemPrompt` shows them compiled with memory blocks and metadata.',
    }),
    model: t.exposeString('model', {
      description: 'Model handle, `provider/name`, such as anthropic/claude-sonnet-4-5, openai/gpt-5 or demo/scripted.',
    }),
    modelSettings: t.expose('modelSettings', { type: ModelSettings, description: 'Settings for model requests.' }),
    toolRules: t.field({
      type: [ToolRule],
      description: 'Constraints on tool calls. All of them apply together.',
      resolve: (agent) => [...agent.toolRules],
    }),
    compaction: t.expose('compaction', {
      type: CompactionSettings,
      description: 'How the context is shortened when it grows too long.',
    }),
    keepRequests: t.exposeBoolean('keepRequests', {
      description:
        'Whether `Step.request` and `Step.response` are kept, even if the server does not keep them by default.',
    }),
    tags: t.stringList({ description: 'Tags to filter by.', resolve: (agent) => [...agent.tags] }),
    metadata: t.field({
      type: 'JSON',
      description: "JSON object for the client's own use. Empty by default.",
      resolve: (agent) => agent.metadata,
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
      resolve: async (agent, _args, { loaders }) =>
        exportAgent(agent, await loaders.blocksOfAgent.load(agent.id), await loaders.toolsOfAgent.load(agent.id)),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the agent was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: "When the agent's settings, or its attached tools and blocks, last changed.",
    }),
  }),
})

registerNode('Agent', { load: (context, { uuid }) => context.loaders.agents.load(uuid) })

const AgentConnection = connectionType('Agent', Agent)

const AgentFilter = builder.inputType('AgentFilter', {
  description: 'Which agents to list. Omitted fields do not filter; all given fields must match.',
  fields: (t) => ({
    nameContains: t.string({ description: 'Part of the name, ignoring case.' }),
    tags: t.stringList({ description: 'Tags that the agent must all have.' }),
    key: t.string({ description: "The client's own key, as given to `upsertAgent`." }),
  }),
})

builder.queryFields((t) => ({
  agent: t.field({
    type: Agent,
    nullable: true,
    description: 'Agent with this id. Null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'Id of the agent.' }) },
    resolve(_root, { id }, context) {
      const uuid = uuidOf('Agent', id)
      return uuid === undefined ? null : context.loaders.agents.load(uuid)
    },
  }),
  agents: t.field({
    type: AgentConnection,
    description: 'Agents of the tenant.',
    args: {
      ...pageArguments,
      filter: t.arg({
        type: AgentFilter,
        description: 'Which agents to list. Omitted fields do not filter; all given fields must match.',
      }),
    },
    complexity: pageComplexity,
    async resolve(_root, { filter, ...page }, { db, viewer }) {
      return {
        ...(await listAgentsPage(db, viewer, filter ?? {}, page)),
        countAll: () => countAgents(db, viewer, filter ?? {}),
      }
    },
  }),
}))
