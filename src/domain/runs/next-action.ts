import { missingCalls } from '../tools/call-check.ts'
import { callsOfStep, findTool, isAnswered, lastStep, type RunState } from './run-state.ts'
import { isFaulty, mayCorrect } from './response-schema.ts'
import type { RunError, StopReason } from './run.ts'
import { hasRun, isSettled, type ToolCall } from '../tools/tool-call.ts'

/** What to do next with a run. */
export type Action =
  | { readonly type: 'wind down' }
  /** Calls whose worker is gone, and how each is settled. */
  | { readonly type: 'settle lost calls'; readonly calls: readonly ToolCall[] }
  | { readonly type: 'pause' }
  | { readonly type: 'run tools'; readonly calls: readonly ToolCall[] }
  | { readonly type: 'wait for tools' }
  /** Every call of the step has a result, so the model is told. */
  | { readonly type: 'return results' }
  | { readonly type: 'store follow-ups' }
  /** The model wants to end its turn, but rules require calls of these tools first. */
  | { readonly type: 'remind'; readonly tools: readonly string[] }
  /** The answer does not satisfy the response schema, so the model is told why. */
  | { readonly type: 'correct answer' }
  | { readonly type: 'end'; readonly stopReason: StopReason; readonly error?: RunError }
  /** A budget applies, and what is left of it must be read before a model is asked. */
  | { readonly type: 'check budget' }
  | { readonly type: 'pause for budget' }
  | { readonly type: 'compact' }
  | { readonly type: 'call model' }

/**
 * The loop's only decision, made from nothing but what is stored: the first line that applies. Whoever loads the same
 * rows gets the same answer, so approval, retry, drain and crash recovery need no code of their own.
 */
export function nextAction(state: RunState): Action {
  const step = lastStep(state)
  const calls = step ? callsOfStep(state, step.index) : []
  const running = calls.filter((call) => call.status === 'RUNNING')

  if (state.run.cancelRequestedAt && running.every((call) => !state.inFlight.has(call.id))) return { type: 'wind down' }
  const lost = running.filter((call) => !state.inFlight.has(call.id))
  if (lost.length > 0) return { type: 'settle lost calls', calls: lost }
  if (state.run.cancelRequestedAt) return { type: 'wait for tools' }
  // A run that compacts has one message, the summary.
  if (state.run.kind === 'COMPACTION') {
    return state.run.firstPosition === null ? withinBudget(state, 'compact') : { type: 'end', stopReason: 'END_TURN' }
  }
  if (calls.some((call) => call.status === 'PENDING')) return { type: 'pause' }

  const startable = callsToStart(state, calls)
  if (startable.length > 0) return { type: 'run tools', calls: startable }
  if (running.length > 0) return { type: 'wait for tools' }
  if (step?.status === 'RUNNING' && calls.length > 0 && calls.every(isSettled)) return { type: 'return results' }
  if (state.run.followUps.length > 0) return { type: 'store follow-ups' }

  if (step && isAnswered(step)) {
    const missing = missingCalls(state)
    if (missing.length > 0) {
      // The stop reason is cleared once the model was told what is wrong with its answer.
      if (calls.length === 0 && step.stopReason !== null && !limitReached(state))
        return { type: 'remind', tools: missing }
    } else {
      if (calls.length === 0 && !isFaulty(step)) return { type: 'end', stopReason: step.stopReason ?? 'END_TURN' }
      if (isFaulty(step) && step.stopReason !== null && !limitReached(state)) {
        const { stopReason, error } = step
        return mayCorrect(state) ? { type: 'correct answer' } : { type: 'end', stopReason, error }
      }
      if (calls.some((call) => isTerminal(state, call))) return { type: 'end', stopReason: 'TOOL_RULE' }
    }
  }
  const limit = !step || isAnswered(step) ? limitReached(state) : undefined
  return limit ? { type: 'end', stopReason: limit } : withinBudget(state, 'call model')
}

/** What asks a model, unless a budget is in the way. */
function withinBudget({ budget }: RunState, type: 'call model' | 'compact'): Action {
  switch (budget) {
    case 'none':
    case 'open':
      return { type }
    case 'unchecked':
      return { type: 'check budget' }
    case 'STOP':
      return { type: 'end', stopReason: 'BUDGET_EXCEEDED' }
    case 'ASK':
      return { type: 'pause for budget' }
    default:
      return budget satisfies never
  }
}

function limitReached({ run, steps }: RunState): StopReason | undefined {
  // Failed requests, and requests for summaries, do not count as steps.
  if (steps.filter(isAnswered).length >= run.maxSteps) return 'MAX_STEPS'
  const spent = run.usage.inputTokens + run.usage.outputTokens
  return run.maxTotalTokens !== null && spent >= run.maxTotalTokens ? 'BUDGET_EXCEEDED' : undefined
}

/**
 * Calls marked parallel start together. Then the others run one after another, in the order in which the model made
 * them.
 */
function callsToStart(state: RunState, calls: readonly ToolCall[]): ToolCall[] {
  const ready = calls.filter((call) => call.status === 'READY')
  const together = ready.filter((call) => findTool(state, call.name)?.tool.parallel)
  if (together.length > 0) return together
  return calls.some((call) => call.status === 'RUNNING') ? [] : ready.slice(0, 1)
}

/** A denied or refused call does not count, because the model must be told about it. */
function isTerminal(state: RunState, call: ToolCall): boolean {
  return hasRun(call) && state.agent.toolRules.some((rule) => rule.kind === 'TERMINAL' && rule.tool === call.name)
}
