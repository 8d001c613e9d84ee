import { createSleeptimeGroup } from '../commands/create-sleeptime-group.ts'
import { deleteSleeptimeGroup } from '../commands/delete-sleeptime-group.ts'
import { updateSleeptimeGroup } from '../commands/update-sleeptime-group.ts'
import { Agent } from './agent.ts'
import { builder } from './builder.ts'
import { loadExisting } from './load-existing.ts'
import { encodeId, Node, registerNode, requireUuid } from './node.ts'
import { deletedPayloadType, payloadType } from './payload.ts'
import { Message, SleeptimeGroup } from './run-refs.ts'

SleeptimeGroup.implement({
  description: "Agents that study the foreground agent's conversation in the background and tend its memory.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique, and the same for ever.',
      resolve: (group) => encodeId('SleeptimeGroup', group.id),
    }),
    agent: t.field({
      type: Agent,
      description: 'The foreground agent.',
      resolve: (group, _args, { loaders }) => loadExisting(loaders.agents, 'Agent', group.agentId),
    }),
    sleeptimeAgents: t.field({
      type: [Agent],
      description: 'The agents that work in the background.',
      resolve: (group, _args, { loaders }) =>
        Promise.all(group.sleeptimeAgentIds.map((id) => loadExisting(loaders.agents, 'Agent', id))),
    }),
    frequency: t.exposeInt('frequency', { description: 'They run after every `frequency`-th turn.' }),
    turns: t.exposeInt('turns', { description: 'How many turns of the foreground agent were counted.' }),
    lastProcessedMessage: t.field({
      type: Message,
      nullable: true,
      description:
        "The message of the agent's main conversation up to which all of them have read. Null where one has read nothing.",
      resolve: async (group, _args, { loaders }) => {
        const id = await loaders.lastProcessedMessageOfGroup.load(group.id)
        return id === undefined ? null : loaders.messages.load(id)
      },
    }),
  }),
})

registerNode('SleeptimeGroup', { load: (context, id) => context.loaders.sleeptimeGroups.load(id.uuid) })

builder.objectField(Agent, 'sleeptime', (t) =>
  t.field({
    type: SleeptimeGroup,
    nullable: true,
    description: 'The agents that work for it in the background. Null where there are none.',
    resolve: (agent, _args, { loaders }) => loaders.sleeptimeGroupOfAgent.load(agent.id),
  }),
)

const CreateSleeptimeGroupInput = builder.inputType('CreateSleeptimeGroupInput', {
  description: 'Gives an agent others that work for it in the background.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'The foreground agent.' }),
    sleeptimeAgentIds: t.idList({
      description:
        "Agents to use, 10 at the most; where none is named, one is made that shares the agent's memory blocks. None may have tools that wait for anyone.",
    }),
    frequency: t.int({ required: true, defaultValue: 1, description: 'They run after every `frequency`-th turn.' }),
  }),
})

const UpdateSleeptimeGroupInput = builder.inputType('UpdateSleeptimeGroupInput', {
  description: 'What is left out stays as it is.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The group.' }),
    sleeptimeAgentIds: t.idList({ description: 'The agents to use from now on.' }),
    frequency: t.int({ description: 'They run after every `frequency`-th turn.' }),
  }),
})

const DeleteSleeptimeGroupInput = builder.inputType('DeleteSleeptimeGroupInput', {
  description: 'Which group to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'The group.' }) }),
})

const CreateSleeptimeGroupPayload = payloadType(
  'CreateSleeptimeGroupPayload',
  'group',
  SleeptimeGroup,
  'The new group.',
)
const UpdateSleeptimeGroupPayload = payloadType(
  'UpdateSleeptimeGroupPayload',
  'group',
  SleeptimeGroup,
  'The changed group.',
)
const DeleteSleeptimeGroupPayload = deletedPayloadType('DeleteSleeptimeGroupPayload', 'Id of the deleted group.')

function agentIdsOf({ sleeptimeAgentIds }: { sleeptimeAgentIds?: readonly string[] | null | undefined }) {
  return sleeptimeAgentIds?.map((id) => requireUuid('Agent', id))
}

builder.mutationFields((t) => ({
  createSleeptimeGroup: t.field({
    type: CreateSleeptimeGroupPayload,
    nullable: true,
    description: 'Gives an agent others that work for it in the background.',
    args: { input: t.arg({ type: CreateSleeptimeGroupInput, required: true, description: 'The group to make.' }) },
    resolve: (_root, { input }, context) =>
      createSleeptimeGroup(context, context.viewer, {
        agentId: requireUuid('Agent', input.agentId),
        sleeptimeAgentIds: agentIdsOf(input),
        frequency: input.frequency ?? 1,
      }),
  }),
  updateSleeptimeGroup: t.field({
    type: UpdateSleeptimeGroupPayload,
    nullable: true,
    description: 'Changes who works for an agent in the background, or how often.',
    args: { input: t.arg({ type: UpdateSleeptimeGroupInput, required: true, description: 'What to change.' }) },
    resolve: (_root, { input }, context) =>
      updateSleeptimeGroup(context, context.viewer, {
        id: requireUuid('SleeptimeGroup', input.id),
        sleeptimeAgentIds: agentIdsOf(input),
        frequency: input.frequency,
      }),
  }),
  deleteSleeptimeGroup: t.field({
    type: DeleteSleeptimeGroupPayload,
    nullable: true,
    description: 'Ends the work in the background. An agent that was made for the group goes with it; others stay.',
    args: { input: t.arg({ type: DeleteSleeptimeGroupInput, required: true, description: 'Which group.' }) },
    async resolve(_root, { input }, context) {
      await deleteSleeptimeGroup(context, context.viewer, { id: requireUuid('SleeptimeGroup', input.id) })
      return input.id
    },
  }),
}))
