import { attachTool } from '../commands/attach-tool.ts'
import { detachTool } from '../commands/detach-tool.ts'
import { setToolApproval } from '../commands/set-tool-approval.ts'
import { approvalPolicy, mayNeedApproval } from '../domain/approval.ts'
import { encodeId } from '../domain/ids.ts'
import type { AgentTool as AgentToolShape } from '../domain/tool.ts'
import { Agent } from './agent.ts'
import { builder } from './builder.ts'
import { loadExisting } from './load-existing.ts'
import { Node, registerNode, requireUuid } from './node.ts'
import { payloadType } from './payload.ts'
import { Tool } from './tool.ts'

const AgentTool = builder.objectRef<AgentToolShape>('AgentTool')
AgentTool.implement({
  description: 'A tool as one agent has it.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'agenttool_…', resolve: (agentTool) => encodeId('AgentTool', agentTool.id) }),
    tool: t.expose('tool', { type: Tool, description: 'The tool itself.' }),
    requiresApproval: t.boolean({
      description:
        "Whether calls may need approval: by a REQUIRES_APPROVAL rule, else by `approvalOverride`, else by the tool's `requiresApproval` or `approvalCondition`.",
      async resolve(agentTool, _args, context) {
        const agent = await loadExisting(context.loaders.agents, 'Agent', agentTool.agentId)
        return mayNeedApproval(approvalPolicy(agentTool, agent.toolRules))
      },
    }),
    approvalOverride: t.exposeBoolean('approvalOverride', {
      nullable: true,
      description: "The agent's own setting; null where it has none.",
    }),
  }),
})

registerNode('AgentTool', { load: (context, { uuid }) => context.loaders.agentTools.load(uuid) })

builder.objectField(Agent, 'tools', (t) =>
  t.field({
    type: [AgentTool],
    description: 'What it can do, in the order in which models are told.',
    resolve: async (agent, _args, context) => [...(await context.loaders.toolsOfAgent.load(agent.id))],
  }),
)

export const AgentToolInput = builder.inputType('AgentToolInput', {
  description: 'A tool for an agent to have.',
  fields: (t) => ({
    toolId: t.id({ required: true, description: 'tool_…' }),
    approvalOverride: t.boolean({ description: "The agent's own setting; the tool's default holds without one." }),
  }),
})

const AttachToolInput = builder.inputType('AttachToolInput', {
  description: 'Which tool to give to which agent.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'agent_…' }),
    toolId: t.id({ required: true, description: 'tool_…' }),
    approvalOverride: t.boolean({ description: "The agent's own setting; the tool's default holds without one." }),
  }),
})

const DetachToolInput = builder.inputType('DetachToolInput', {
  description: 'Which tool to take from which agent.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'agent_…' }),
    toolId: t.id({ required: true, description: 'tool_…' }),
  }),
})

const SetToolApprovalInput = builder.inputType('SetToolApprovalInput', {
  description: 'Whether calls of one tool by one agent wait for approval.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'agent_…' }),
    toolId: t.id({ required: true, description: 'tool_…' }),
    requiresApproval: t.boolean({
      description: "Null: the agent has no setting of its own, the tool's default holds.",
    }),
  }),
})

builder.mutationFields((t) => ({
  attachTool: t.field({
    type: payloadType('AttachToolPayload', 'agent', Agent, 'The agent, with the tool.'),
    nullable: true,
    description:
      'Gives a tool to an agent. Giving it again changes nothing but the approval setting, where one is given.',
    args: { input: t.arg({ type: AttachToolInput, required: true, description: 'Which to whom.' }) },
    resolve: (_root, { input }, context) =>
      attachTool(context, context.viewer, {
        agentId: requireUuid('Agent', input.agentId),
        toolId: requireUuid('Tool', input.toolId),
        approvalOverride: input.approvalOverride,
      }),
  }),
  detachTool: t.field({
    type: payloadType('DetachToolPayload', 'agent', Agent, 'The agent, without the tool.'),
    nullable: true,
    description: "Takes a tool from an agent. Refused while the agent's tool rules name it.",
    args: { input: t.arg({ type: DetachToolInput, required: true, description: 'Which from whom.' }) },
    resolve: (_root, { input }, context) =>
      detachTool(context, context.viewer, {
        agentId: requireUuid('Agent', input.agentId),
        toolId: requireUuid('Tool', input.toolId),
      }),
  }),
  setToolApproval: t.field({
    type: payloadType('SetToolApprovalPayload', 'agent', Agent, 'The changed agent.'),
    nullable: true,
    description: "Sets (or with null clears) an agent's own approval setting for one of its tools.",
    args: { input: t.arg({ type: SetToolApprovalInput, required: true, description: 'Which of whose, and what.' }) },
    resolve: (_root, { input }, context) =>
      setToolApproval(context, context.viewer, {
        agentId: requireUuid('Agent', input.agentId),
        toolId: requireUuid('Tool', input.toolId),
        requiresApproval: input.requiresApproval ?? null,
      }),
  }),
}))
