import { attachTool } from '../commands/attach-tool.ts'
import { detachTool } from '../commands/detach-tool.ts'
import { setToolApproval } from '../commands/set-tool-approval.ts'
import { approvalPolicy, mayNeedApproval } from '../domain/approvals/approval.ts'
import { encodeId } from '../domain/ids.ts'
import type { AgentTool as AgentToolShape } from '../domain/tools/tool.ts'
import { Agent } from './agent.ts'
import { builder } from './builder.ts'
import { loadExisting } from './load-existing.ts'
import { Node, registerNode, requireUuid } from './node.ts'
import { payloadType } from './payload.ts'
import { Tool } from './tool.ts'

const AgentTool = builder.objectRef<AgentToolShape>('AgentTool')
AgentTool.implement({
  description: 'A tool that is attached to an agent.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique and permanent.',
      resolve: (agentTool) => encodeId('AgentTool', agentTool.id),
    }),
    tool: t.expose('tool', { type: Tool, description: 'The tool.' }),
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
      description: "The agent's own approval setting. Null means that the tool's settings apply.",
    }),
  }),
})

registerNode('AgentTool', { load: (context, { uuid }) => context.loaders.agentTools.load(uuid) })

builder.objectField(Agent, 'tools', (t) =>
  t.field({
    type: [AgentTool],
    description: 'Tools that the agent may call, in the order in which the model sees them.',
    resolve: async (agent, _args, context) => [...(await context.loaders.toolsOfAgent.load(agent.id))],
  }),
)

export const AgentToolInput = builder.inputType('AgentToolInput', {
  description: 'A tool to attach to an agent.',
  fields: (t) => ({
    toolId: t.id({ required: true, description: 'Id of the tool.' }),
    approvalOverride: t.boolean({
      description: "The agent's own approval setting. Null means that the tool's settings apply.",
    }),
  }),
})

const AttachToolInput = builder.inputType('AttachToolInput', {
  description: 'A tool and the agent to attach it to.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'Id of the agent.' }),
    toolId: t.id({ required: true, description: 'Id of the tool.' }),
    approvalOverride: t.boolean({
      description:
        "The agent's own approval setting. Omit to keep the current one; null means that the tool's settings apply.",
    }),
  }),
})

const DetachToolInput = builder.inputType('DetachToolInput', {
  description: 'A tool and the agent to detach it from.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'Id of the agent.' }),
    toolId: t.id({ required: true, description: 'Id of the tool.' }),
  }),
})

const SetToolApprovalInput = builder.inputType('SetToolApprovalInput', {
  description: 'Agent, tool and new setting.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'Id of the agent.' }),
    toolId: t.id({ required: true, description: 'Id of the tool.' }),
    requiresApproval: t.boolean({
      description: "Whether the agent's calls need approval. Null means that the tool's settings apply.",
    }),
  }),
})

builder.mutationFields((t) => ({
  attachTool: t.field({
    type: payloadType('AttachToolPayload', 'agent', Agent, 'The agent, with the tool.'),
    nullable: true,
    description: 'Attaches a tool to an agent. If it is attached already, only the approval setting changes.',
    args: {
      input: t.arg({ type: AttachToolInput, required: true, description: 'A tool and the agent to attach it to.' }),
    },
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
    description: "Detaches a tool from an agent. Fails while the agent's tool rules name the tool.",
    args: {
      input: t.arg({ type: DetachToolInput, required: true, description: 'A tool and the agent to detach it from.' }),
    },
    resolve: (_root, { input }, context) =>
      detachTool(context, context.viewer, {
        agentId: requireUuid('Agent', input.agentId),
        toolId: requireUuid('Tool', input.toolId),
      }),
  }),
  setToolApproval: t.field({
    type: payloadType('SetToolApprovalPayload', 'agent', Agent, 'The changed agent.'),
    nullable: true,
    description: "Sets or clears an agent's own approval setting for one of its tools.",
    args: { input: t.arg({ type: SetToolApprovalInput, required: true, description: 'Agent, tool and new setting.' }) },
    resolve: (_root, { input }, context) =>
      setToolApproval(context, context.viewer, {
        agentId: requireUuid('Agent', input.agentId),
        toolId: requireUuid('Tool', input.toolId),
        requiresApproval: input.requiresApproval ?? null,
      }),
  }),
}))
