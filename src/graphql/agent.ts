import type { Agent as AgentShape } from '../domain/agent.ts'
import { exportAgent } from '../domain/agent-document.ts'
import { encodeId } from '../domain/ids.ts'
import { countAgents, listAgentsPage } from '../store/agents.ts'
import { builder } from './builder.ts'
import { CompactionSettings } from './compaction.ts'
import { connectionType, pageArguments, pageComplexity } from './connection.ts'
import { ModelSettings } from './model-settings.ts'
import { Node, registerNode, uuidOf } from './node.ts'
import { ToolRule } from './tool-rule.ts'

/** Its tools, blocks, conversations and runs are told by the modules of those nouns. */
export const Agent = builder.objectRef<AgentShape>('Agent')
Agent.implement({
  description: 'A model with instructions, memory and tools. Its state lives in the database, never in a process.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'agent_…', resolve: (agent) => encodeId('Agent', agent.id) }),
    key: t.exposeString('key', {
      nullable: true,
      description: "The client's own key for the agent, unique in the tenant. Null unless `upsertAgent` set it.",
    }),
    name: t.exposeString('name', { description: 'For people. Several agents may have the same.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'For people. Null where there is none.',
    }),
    instructions: t.exposeString('instructions', {
      description:
        'The instructions as written. `context.systemPrompt` shows them compiled with memory blocks and metadata.',
    }),
    model: t.exposeString('model', {
      description: 'A model handle, provider/name: anthropic/claude-sonnet-4-5, openai/gpt-5, demo/scripted.',
    }),
    modelSettings: t.expose('modelSettings', { type: ModelSettings, description: 'How the model is asked.' }),
    toolRules: t.field({
      type: [ToolRule],
      description: 'Which tools may be called when. All of them hold together.',
      resolve: (agent) => [...agent.toolRules],
    }),
    compaction: t.expose('compaction', {
      type: CompactionSettings,
      description: 'How a context that grew too long is made short again.',
    }),
    tags: t.stringList({ description: 'Words to find it by.', resolve: (agent) => [...agent.tags] }),
    metadata: t.field({
      type: 'JSON',
      description: "A JSON object that is the client's own.",
      resolve: (agent) => agent.metadata,
    }),
    timezone: t.exposeString('timezone', {
      description: 'The IANA name of the time zone in which it is told the time.',
    }),
    export: t.field({
      type: 'JSON',
      description:
        'The agent with its settings, blocks, tools and rules as one versioned JSON document for `importAgent`. It contains no secrets and no conversations.',
      resolve: async (agent, _args, { loaders }) =>
        exportAgent(agent, await loaders.blocksOfAgent.load(agent.id), await loaders.toolsOfAgent.load(agent.id)),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When its settings, or what is attached to it, last changed.',
    }),
  }),
})

registerNode('Agent', { load: (context, { uuid }) => context.loaders.agents.load(uuid) })

const AgentConnection = connectionType('Agent', Agent)

const AgentFilter = builder.inputType('AgentFilter', {
  description: 'Which agents. What is left out is not asked for; all that is given must fit.',
  fields: (t) => ({
    nameContains: t.string({ description: 'A part of the name, in upper or lower case.' }),
    tags: t.stringList({ description: 'Tags that the agent must have, all of them.' }),
    key: t.string({ description: "The client's own key, as given to `upsertAgent`." }),
  }),
})

builder.queryFields((t) => ({
  agent: t.field({
    type: Agent,
    nullable: true,
    description: 'The agent with this id. Null where there is none.',
    args: { id: t.arg.id({ required: true, description: 'agent_…' }) },
    resolve(_root, { id }, context) {
      const uuid = uuidOf('Agent', id)
      return uuid === undefined ? null : context.loaders.agents.load(uuid)
    },
  }),
  agents: t.field({
    type: AgentConnection,
    description: 'All agents, oldest first.',
    args: { ...pageArguments, filter: t.arg({ type: AgentFilter, description: 'Only some of them.' }) },
    complexity: pageComplexity,
    async resolve(_root, { filter, ...page }, { db, viewer }) {
      const { tenantId } = viewer
      return {
        ...(await listAgentsPage(db, tenantId, filter ?? {}, page)),
        countAll: () => countAgents(db, tenantId, filter ?? {}),
      }
    },
  }),
}))
