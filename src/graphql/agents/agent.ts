import { exportAgent, maxExportedPassages } from '../../domain/agents/agent-document.ts'
import type { Agent as AgentShape } from '../../domain/agents/agent.ts'
import { listAgentsPage } from '../../store/agents/agents.ts'
import { listPassagesToExport } from '../../store/memory/passages.ts'
import { builder } from '../builder.ts'
import { connectionType, filterBy, pageOf } from '../connection.ts'
import { CompactionSettings } from '../context/compaction.ts'
import { args, boolean, given, implement, json, of, string, strings, time } from '../fields.ts'
import { ModelSettings } from '../models/model-settings.ts'
import { Node, queryById } from '../node.ts'
import { ToolRule } from '../tools/tool-rule.ts'

/** Tools, blocks, conversations and runs add their own fields to the agent in their modules. */
export const Agent = builder.objectRef<AgentShape>('Agent')
implement(Agent, {
  description: 'A model with instructions, memory blocks and tools. All of its state is stored in the database.',
  interfaces: [Node],
  fields: (t) => ({
    key: string.orNull("The client's own key for the agent, unique in the tenant. Null unless `upsertAgent` set it."),
    name: string('Display name. Need not be unique.'),
    description: string.orNull('Description for people. Null if there is none.'),
    instructions: string(
      'Instructions as written. `Context.systemPrompt` shows them compiled with memory blocks and metadata.',
    ),
    model: string('Model handle, `provider/name`, such as anthropic/claude-sonnet-4-5, openai/gpt-5 or demo/scripted.'),
    modelSettings: of(ModelSettings)('Settings for model requests.'),
    toolRules: of([ToolRule])('Constraints on tool calls. All of them apply together.'),
    compaction: of(CompactionSettings)('How the context is shortened when it grows too long.'),
    keepRequests: boolean(
      'Whether `Step.request` and `Step.response` are kept, even if the server does not keep them by default.',
    ),
    tags: strings('Tags to filter by.'),
    metadata: json("JSON object for the client's own use. Empty by default."),
    timezone: string('IANA name of the time zone in which the agent is told the time. Defaults to UTC.'),
    tellTimes: boolean('Whether the model is told when messages and tool returns happened, in `timezone`.'),
    export: t.field({
      type: 'JSON',
      description:
        'The agent with its settings, blocks, tools and rules as one versioned JSON document for `importAgent`. It contains no secrets and no conversations.',
      args: args({
        passages: boolean.withDefault(
          false,
          `Whether to include the archive, if it has at most ${maxExportedPassages} passages. Defaults to false.`,
        ),
      }),
      resolve: async (agent, { passages }, { db, viewer, loaders }) =>
        exportAgent(agent, {
          blocks: await loaders.blocksOfAgent.load(agent.id),
          tools: await loaders.toolsOfAgent.load(agent.id),
          passages: passages ? await listPassagesToExport(db, viewer, agent.id, maxExportedPassages) : undefined,
        }),
    }),
    createdAt: time('When the agent was created.'),
    updatedAt: time("When the agent's settings, or its attached tools and blocks, last changed."),
  }),
})

queryById(Agent, 'Agent')

const AgentFilter = builder.inputType('AgentFilter', {
  description: 'Which agents to list. Omitted fields do not filter; all given fields must match.',
  fields: given({
    nameContains: string('Part of the name, ignoring case.'),
    tags: strings('Tags that the agent must all have.'),
    key: string("The client's own key, as given to `upsertAgent`."),
  }),
})

builder.queryField('agents', (t) =>
  t.field({
    ...pageOf(connectionType('Agent', Agent), 'Agents of the tenant.', filterBy(AgentFilter, 'agents')),
    resolve: (_root, { filter, ...page }, { db, viewer }) => listAgentsPage(db, viewer, filter ?? {}, page),
  }),
)
