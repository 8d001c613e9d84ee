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
  description: "Background agents that read a foreground agent's conversations and maintain its memory.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique and permanent.',
      resolve: (group) => encodeId('SleeptimeGroup', group.id),
    }),
    agent: t.field({
      type: Agent,
      description: 'Foreground agent.',
      resolve: (group, _args, { loaders }) => loadExisting(loaders.agents, 'Agent', group.agentId),
    }),
    sleeptimeAgents: t.field({
      type: [Agent],
      description: 'Background agents.',
      resolve: (group, _args, { loaders }) =>
        Promise.all(group.sleeptimeAgentIds.map((id) => loadExisting(loaders.agents, 'Agent', id))),
    }),
    frequency: t.exposeInt('frequency', {
      description: 'The background agents run after every `frequency`-th turn of the foreground agent.',
    }),
    turns: t.exposeInt('turns', { description: 'Number of turns of the foreground agent so far.' }),
    lastProcessedMessage: t.field({
      type: Message,
      nullable: true,
      description:
        'Last message of the main conversation that all background agents have processed. Null if there is none.',
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
    description: "Background agents that maintain this agent's memory. Null if there are none.",
    resolve: (agent, _args, { loaders }) => loaders.sleeptimeGroupOfAgent.load(agent.id),
  }),
)

const CreateSleeptimeGroupInput = builder.inputType('CreateSleeptimeGroupInput', {
  description: 'Background agents for an agent.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'Id of the foreground agent.' }),
    sleeptimeAgentIds: t.idList({
      description:
        "Ids of the background agents, at most 10. Their tools must not need approval or a client. If omitted or empty, one is created that shares the foreground agent's blocks.",
    }),
    frequency: t.int({
      required: true,
      defaultValue: 1,
      description: 'The background agents run after every `frequency`-th turn, 1 to 1,000,000. Defaults to 1.',
    }),
  }),
})

const UpdateSleeptimeGroupInput = builder.inputType('UpdateSleeptimeGroupInput', {
  description: 'Changes to background agents. Omitted fields stay unchanged.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'Id of the group.' }),
    sleeptimeAgentIds: t.idList({ description: 'Ids of all background agents, at most 10.' }),
    frequency: t.int({ description: 'The background agents run after every `frequency`-th turn, 1 to 1,000,000.' }),
  }),
})

const DeleteSleeptimeGroupInput = builder.inputType('DeleteSleeptimeGroupInput', {
  description: 'The group to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Id of the group.' }) }),
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
    description: 'Adds background agents to an agent.',
    args: {
      input: t.arg({ type: CreateSleeptimeGroupInput, required: true, description: 'Background agents for an agent.' }),
    },
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
    description: 'Changes the background agents of an agent, or how often they run.',
    args: {
      input: t.arg({
        type: UpdateSleeptimeGroupInput,
        required: true,
        description: 'Changes to background agents. Omitted fields stay unchanged.',
      }),
    },
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
    description:
      'Ends background work for an agent. A background agent that was made for the group is deleted; others stay.',
    args: { input: t.arg({ type: DeleteSleeptimeGroupInput, required: true, description: 'The group to delete.' }) },
    async resolve(_root, { input }, context) {
      await deleteSleeptimeGroup(context, context.viewer, { id: requireUuid('SleeptimeGroup', input.id) })
      return input.id
    },
  }),
}))
