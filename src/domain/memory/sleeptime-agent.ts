import { cutText } from '../../util/json.ts'
import type { Agent } from '../agents/agent.ts'
import { approvalPolicy, mayNeedApproval } from '../approvals/approval.ts'
import type { BlockSettings } from './block-input.ts'
import { badUserInput } from '../errors.ts'
import { shown } from '../input.ts'
import type { AgentTool } from '../tools/tool.ts'
import type { ToolRule } from '../tools/tool-rules.ts'
import { defaultBlockCharLimit } from './block.ts'

/** The tools of the agent that is made for a group. The last one ends its run. */
export const sleeptimeToolNames = ['memory_insert', 'memory_replace', 'memory_rethink', 'memory_finish_edits'] as const

export const personaLabel = 'memory_persona'

const instructions = `You are a sleeptime agent: you run in the background, after another agent's turns, and look after the memory that the two of you share. You never talk to that agent's user.

You are given transcripts. For each, decide what of it will matter later, and edit your memory blocks accordingly:
- memory_insert adds lines, memory_replace changes a passage, memory_rethink writes a block anew.
- Keep every block true, short and in order. Merge what says the same, replace what has changed, remove what turned out wrong. Write dates, names and numbers out.
- A block has a limit. When it is nearly full, condense it before you add to it.
- Not everything is worth keeping. Where nothing is, edit nothing.

When the blocks are as they should be, call memory_finish_edits.`

export const sleeptimePersona: BlockSettings = {
  label: personaLabel,
  value: 'I keep what helps the primary agent next time: who its user is, what they want, what was decided and done.',
  description: 'How I tend the shared memory: what I keep, how I phrase it, what I leave out.',
  charLimit: defaultBlockCharLimit,
  readOnly: false,
}

/** The agent that is made for a foreground agent. It has the same model, but instructions of its own. */
export function sleeptimeAgentOf(foreground: Agent, { id, now }: { readonly id: string; readonly now: Date }): Agent {
  const finish: ToolRule = { kind: 'TERMINAL', tool: 'memory_finish_edits' }
  return {
    ...foreground,
    id,
    key: null,
    name: `${cutText(foreground.name, 180)} (sleeptime)`,
    description: `Works in the background for ${foreground.name}.`,
    instructions,
    modelSettings: { ...foreground.modelSettings, responseSchema: null },
    toolRules: [finish],
    tags: [],
    metadata: {},
    createdAt: now,
    updatedAt: now,
  }
}

/** Nobody watches a background run, so an agent with calls that may wait for a person cannot work in the background. */
export function refuseWaitingTools(
  field: string,
  agent: Pick<Agent, 'name' | 'toolRules'>,
  agentTools: readonly AgentTool[],
): void {
  const waiting = agentTools.filter((agentTool) => mayWait(agent, agentTool)).map(({ tool }) => tool.name)
  if (waiting.length === 0) return
  throw badUserInput(
    field,
    `The agent ${shown(agent.name)} works in the background, where nobody can approve a call or run a client's tool, and these tools of it may wait: ${waiting.join(', ')}. Detach them, or turn their approval off for the agent.`,
  )
}

function mayWait({ toolRules }: Pick<Agent, 'toolRules'>, agentTool: AgentTool): boolean {
  return agentTool.tool.kind === 'CLIENT' || mayNeedApproval(approvalPolicy(agentTool, toolRules))
}
