import {
  createSleeptimeGroup,
  deleteSleeptimeGroup,
  updateSleeptimeGroup,
} from '../../commands/memory/sleeptime-group.ts'
import type { SleeptimeGroup as GroupShape } from '../../domain/memory/sleeptime.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { addFields, id, ids, implement, int, of } from '../fields.ts'
import { linkTo, loaded, loadExisting } from '../load-existing.ts'
import { deletion, idempotencyKeyField, mutation, payload } from '../mutation.ts'
import { Node, requireUuid } from '../node.ts'
import { Message } from '../refs.ts'

const SleeptimeGroup = builder.objectRef<GroupShape>('SleeptimeGroup')
implement(SleeptimeGroup, {
  description: "Background agents that read a foreground agent's conversations and maintain its memory.",
  interfaces: [Node],
  fields: (t) => ({
    agent: linkTo(Agent, 'agentId', 'Foreground agent.'),
    sleeptimeAgents: t.field({
      ...of([Agent])('Background agents.'),
      resolve: (group, _args, { loaders }) =>
        Promise.all(group.sleeptimeAgentIds.map((id) => loadExisting(loaders.agents, 'Agent', id))),
    }),
    frequency: int('The background agents run after every `frequency`-th turn of the foreground agent.'),
    turns: int('Number of turns of the foreground agent so far.'),
    lastProcessedMessage: t.field({
      ...of(Message).orNull(
        'Last message of the main conversation that all background agents have processed. Null if there is none.',
      ),
      resolve: async (group, _args, { loaders }) => {
        const id = await loaders.lastProcessedMessageOfGroup.load(group.id)
        return id === undefined ? null : loaders.messages.load(id)
      },
    }),
  }),
})

addFields(Agent, () => ({
  sleeptime: loaded(
    'sleeptimeGroupOfAgent',
    of(SleeptimeGroup).orNull("Background agents that maintain this agent's memory. Null if there are none."),
  ),
}))

function agentIdsOf({ sleeptimeAgentIds }: { sleeptimeAgentIds?: readonly string[] | null | undefined }) {
  return sleeptimeAgentIds?.map((id) => requireUuid('Agent', id))
}

mutation('createSleeptimeGroup', {
  description: 'Adds background agents to an agent.',
  input: {
    description: 'Background agents for an agent.',
    fields: {
      agentId: id.required('Id of the foreground agent.'),
      sleeptimeAgentIds: ids(
        "Ids of the background agents, at most 10. Their tools must not need approval or a client. If omitted or empty, one is created that shares the foreground agent's blocks.",
      ),
      frequency: int.withDefault(
        1,
        'The background agents run after every `frequency`-th turn, 1 to 1,000,000. Defaults to 1.',
      ),
      idempotencyKey: idempotencyKeyField,
    },
  },
  result: payload('group', SleeptimeGroup, 'The new group.'),
  resolve: (input, context) =>
    createSleeptimeGroup(context, context.viewer, {
      ...input,
      agentId: requireUuid('Agent', input.agentId),
      sleeptimeAgentIds: agentIdsOf(input) ?? input.sleeptimeAgentIds,
    }),
})

mutation('updateSleeptimeGroup', {
  description: 'Changes the background agents of an agent, or how often they run.',
  input: {
    description: 'Changes to background agents. Omitted fields stay unchanged.',
    fields: {
      id: id.required('Id of the group.'),
      sleeptimeAgentIds: ids('Ids of all background agents, at most 10.'),
      frequency: int('The background agents run after every `frequency`-th turn, 1 to 1,000,000.'),
    },
  },
  result: payload('group', SleeptimeGroup, 'The changed group.'),
  resolve: (input, context) =>
    updateSleeptimeGroup(context, context.viewer, {
      id: requireUuid('SleeptimeGroup', input.id),
      sleeptimeAgentIds: agentIdsOf(input),
      frequency: input.frequency,
    }),
})

deletion('deleteSleeptimeGroup', {
  description:
    'Ends background work for an agent. A background agent that was made for the group is deleted; others stay.',
  kind: 'SleeptimeGroup',
  command: deleteSleeptimeGroup,
})
