import { attachTool, detachTool, setToolApproval } from '../../commands/tools/attach-tool.ts'
import { approvalPolicy, mayNeedApproval } from '../../domain/approvals/approval.ts'
import type { AgentTool as AgentToolShape } from '../../domain/tools/tool.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { addFields, boolean, given, id, implement, of, string } from '../fields.ts'
import { loaded, loadExisting } from '../load-existing.ts'
import { mutation, payload } from '../mutation.ts'
import { Node, requireUuid } from '../node.ts'
import { Tool } from './tool.ts'

const AgentTool = builder.objectRef<AgentToolShape>('AgentTool')
implement(AgentTool, {
  description: 'A tool that is attached to an agent.',
  interfaces: [Node],
  fields: (t) => ({
    tool: of(Tool)('The tool.'),
    requiresApproval: t.boolean({
      description:
        "Whether calls may need approval: by a REQUIRES_APPROVAL rule, else by `approvalOverride`, else by the tool's `requiresApproval` or `approvalCondition`.",
      async resolve(agentTool, _args, context) {
        const agent = await loadExisting(context.loaders.agents, 'Agent', agentTool.agentId)
        return mayNeedApproval(approvalPolicy(agentTool, agent.toolRules))
      },
    }),
    approvalOverride: boolean.orNull("The agent's own approval setting. Null means that the tool's settings apply."),
  }),
})

addFields(Agent, () => ({
  tools: loaded(
    'toolsOfAgent',
    of([AgentTool])('Tools that the agent may call, in the order in which the model sees them.'),
  ),
}))

const whichTool = {
  toolId: 'Id of the tool. Required unless `toolName` is given.',
  toolName: 'Name of the tool, instead of its id.',
}

export const AgentToolInput = builder.inputType('AgentToolInput', {
  description: 'A tool to attach to an agent.',
  fields: given({
    toolId: id(whichTool.toolId),
    toolName: string(whichTool.toolName),
    approvalOverride: boolean("The agent's own approval setting. Null means that the tool's settings apply."),
  }),
})

/** The same input with the internal id of its tool, if it gives an id. */
export function toolOf<Input extends { toolId?: string | null | undefined }>({ toolId, ...input }: Input) {
  return { ...input, toolId: typeof toolId === 'string' ? requireUuid('Tool', toolId) : null }
}

mutation('attachTool', {
  description: 'Attaches a tool to an agent. If it is attached already, only the approval setting changes.',
  input: {
    description: 'A tool and the agent to attach it to.',
    fields: {
      agentId: id.required('Id of the agent.'),
      toolId: id(whichTool.toolId),
      toolName: string(whichTool.toolName),
      approvalOverride: boolean(
        "The agent's own approval setting. Omit to keep the current one; null means that the tool's settings apply.",
      ),
    },
  },
  result: payload('agent', Agent, 'The agent, with the tool.'),
  resolve: (input, context) =>
    attachTool(context, context.viewer, { ...toolOf(input), agentId: requireUuid('Agent', input.agentId) }),
})

const agentAndTool = { agentId: id.required('Id of the agent.'), toolId: id.required('Id of the tool.') }

function uuidsOf({ agentId, toolId }: { readonly agentId: string; readonly toolId: string }) {
  return { agentId: requireUuid('Agent', agentId), toolId: requireUuid('Tool', toolId) }
}

mutation('detachTool', {
  description: "Detaches a tool from an agent. Fails while the agent's tool rules name the tool.",
  input: {
    description: 'A tool and the agent to detach it from.',
    fields: agentAndTool,
  },
  result: payload('agent', Agent, 'The agent, without the tool.'),
  resolve: (input, context) => detachTool(context, context.viewer, uuidsOf(input)),
})

mutation('setToolApproval', {
  description: "Sets or clears an agent's own approval setting for one of its tools.",
  input: {
    description: 'Agent, tool and new setting.',
    fields: {
      ...agentAndTool,
      requiresApproval: boolean("Whether the agent's calls need approval. Null means that the tool's settings apply."),
    },
  },
  result: payload('agent', Agent, 'The changed agent.'),
  resolve: ({ requiresApproval = null, ...input }, context) =>
    setToolApproval(context, context.viewer, { ...uuidsOf(input), requiresApproval }),
})
