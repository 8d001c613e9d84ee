import type { Agent } from '../agents/agent.ts'
import type { GivenMessage } from '../conversations/message.ts'
import type { Run, RunContents } from './run.ts'
import type { Step } from './step.ts'
import type { ToolCall } from '../tools/tool-call.ts'
import type { Allowance, BudgetGate } from '../usage/budget.ts'
import type { AgentTool } from '../tools/tool.ts'

/** Up to which position a background run reads each conversation, by the conversation's id. */
export type Reading = Readonly<Record<string, number>>

/** A whole run, with the columns that only drivers need. */
export interface DrivenRun extends Run, RunContents {
  readonly lease: string | null
  readonly workerId: string | null
  /** How many workers died while they drove the run, since its last checkpoint. */
  readonly deaths: number
  readonly followUps: readonly GivenMessage[]
  readonly approvedTools: readonly string[]
  readonly allowance: Allowance
  /** SLEEPTIME: what it reads. Set when it begins. */
  readonly reading: Reading | null
  /** The span that started the run, in the format of the `traceparent` header. Null if the caller sent none. */
  readonly traceparent: string | null
  /** The conversation whose blocks it sees: its own, or the one that a background run works for. */
  readonly memoryConversationId: string
}

/** Everything stored that decides how a run continues. */
export interface RunState {
  readonly run: DrivenRun
  readonly agent: Agent
  readonly tools: readonly AgentTool[]
  readonly steps: readonly Step[]
  /** Every call of the run, in order: the history that tool rules look at. */
  readonly calls: readonly ToolCall[]
  /** The conversation's next position, for a run that has not begun yet. */
  readonly nextPosition: number
  /** Calls that are running in this process. A call that is RUNNING and not among them has lost its worker. */
  readonly inFlight: ReadonlySet<string>
  readonly budget: BudgetGate
}

/** What decides what the model is sent, for an existing run or a hypothetical one. */
export type PromptState = Pick<RunState, 'agent' | 'tools' | 'steps' | 'calls'> & {
  readonly run: Pick<DrivenRun, 'id' | 'request'>
}

export function lastStep(state: Pick<RunState, 'steps'>): Step | undefined {
  return state.steps.at(-1)
}

/** The last step of a run that has begun one. */
export function currentStep(state: Pick<RunState, 'steps'>): Step {
  const step = lastStep(state)
  if (!step) throw new Error('The run has no step yet.')
  return step
}

export function callsOfStep(state: Pick<RunState, 'calls'>, index: number): ToolCall[] {
  // Calls are ordered by step, and usually the last step is asked for.
  const start = state.calls.findLastIndex((call) => call.stepIndex < index) + 1
  const end = state.calls.findLastIndex((call) => call.stepIndex <= index) + 1
  return state.calls.slice(start, end)
}

/**
 * Whether the model has answered. Until then the step is attempted again, after a crash as well as after a failure. A
 * failed step has an answer only if it has calls, and then the time they took is known.
 */
export function isAnswered(step: Step): boolean {
  return step.modelMs !== null && (step.status !== 'FAILED' || step.toolsMs !== null)
}

export function findTool(state: Pick<PromptState, 'tools' | 'run'>, name: string): AgentTool | undefined {
  if (findClientTool(state.run.request, name)) return undefined
  return state.tools.find((agentTool) => agentTool.tool.name === name)
}

/** The client tool of this name that came with the request. It hides the agent's tool of the same name. */
export function findClientTool<Tool extends { readonly name: string }>(
  { clientTools }: { readonly clientTools: readonly Tool[] },
  name: string,
): Tool | undefined {
  return clientTools.find((tool) => tool.name === name)
}
