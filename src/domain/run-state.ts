import type { Agent } from './agent.ts'
import type { GivenMessage } from './message.ts'
import type { Run, RunContents } from './run.ts'
import type { Step } from './step.ts'
import type { ToolCall } from './tool-call.ts'
import type { AgentTool } from './tool.ts'

/** Up to which position of each conversation, by its id, a background run reads. */
export type Reading = Readonly<Record<string, number>>

/** A whole run, with the columns that only its drivers look at. */
export interface DrivenRun extends Run, RunContents {
  readonly lease: string | null
  readonly workerId: string | null
  /** Workers that died while they drove the run, since its last checkpoint. */
  readonly deaths: number
  readonly followUps: readonly GivenMessage[]
  readonly approvedTools: readonly string[]
  /** SLEEPTIME: what it was given to read, once it has begun. */
  readonly reading: Reading | null
  /** What asked for the run, as the header `traceparent` names it. Null if nothing said so. */
  readonly traceparent: string | null
  /** The conversation whose blocks it sees: its own, or the one that a background run works for. */
  readonly memoryConversationId: string
}

/** All that decides how a run goes on, as it is stored. */
export interface RunState {
  readonly run: DrivenRun
  readonly agent: Agent
  readonly tools: readonly AgentTool[]
  readonly steps: readonly Step[]
  /** Every call of the run, in order: the history that tool rules look at. */
  readonly calls: readonly ToolCall[]
  /** Where the conversation goes on, should this run not have begun yet. */
  readonly nextPosition: number
  /** Calls that run in this process now. A call that is RUNNING and not among them has lost its worker. */
  readonly inFlight: ReadonlySet<string>
}

/** What decides what a model is sent, of a run or of one that might come. */
export type PromptState = Pick<RunState, 'agent' | 'tools' | 'steps' | 'calls'> & {
  readonly run: Pick<DrivenRun, 'id' | 'request'>
}

export function lastStep(state: Pick<RunState, 'steps'>): Step | undefined {
  return state.steps.at(-1)
}

export function callsOfStep(state: Pick<RunState, 'calls'>, index: number): ToolCall[] {
  // Calls are ordered by step, and it is usually the last step that is asked for.
  const start = state.calls.findLastIndex((call) => call.stepIndex < index) + 1
  const end = state.calls.findLastIndex((call) => call.stepIndex <= index) + 1
  return state.calls.slice(start, end)
}

/**
 * Whether the model has answered. Until then the step is made again, after a crash as after a failure. A step that
 * failed has an answer only if it has calls, and then the time that they took is known.
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
