import { faultOfCall, type CallFault } from '../tools/call-check.ts'
import type { Draft } from './draft.ts'
import { nextAction } from './next-action.ts'
import { correctionOf } from './response-schema.ts'
import { callsOfStep, currentStep, findTool, isAnswered, lastStep } from './run-state.ts'
import { hasEnded, statusOfStopReason, type RunError, type StopReason } from './run.ts'
import { isSettled, type ToolCall, type ToolResult } from '../tools/tool-call.ts'

/** The actions that can remain once a draft is stored. */
export type Effect =
  | { readonly type: 'call model' }
  | { readonly type: 'check budget' }
  | { readonly type: 'compact' }
  | { readonly type: 'run tools'; readonly calls: readonly ToolCall[] }
  | { readonly type: 'wait for tools' }
  /** Paused or ended: the worker is done with the run. */
  | { readonly type: 'stop' }

/**
 * Takes a draft as far as it can without acting: everything up to the next model call, tool or pause joins the same
 * checkpoint, and so does the mark that says what starts now. After a crash, that mark shows what was under way.
 */
export function advance(draft: Draft): Effect {
  // The change itself, or a refused call, may have ended the run. Nothing more is to be done then.
  while (!hasEnded(draft.state.run.status)) {
    const action = nextAction(draft.state)
    switch (action.type) {
      case 'wind down':
        endRun(draft, { stopReason: 'CANCELLED' })
        return { type: 'stop' }
      case 'settle lost calls':
        for (const call of action.calls) settleLostCall(draft, call)
        break
      case 'pause':
        draft.changeStep({ status: 'PAUSED' })
        draft.setStatus('AWAITING_APPROVAL', { stopReason: 'REQUIRES_APPROVAL' })
        draft.changeRun({ lease: null, workerId: null })
        return { type: 'stop' }
      case 'pause for budget':
        draft.setStatus('AWAITING_APPROVAL', { stopReason: 'BUDGET_EXCEEDED' })
        draft.changeRun({ lease: null, workerId: null, deaths: 0 })
        return { type: 'stop' }
      case 'run tools': {
        const calls = refuseUnfit(draft, action.calls)
        if (calls.length > 0) {
          draft.startCalls(calls)
          return { type: 'run tools', calls }
        }
        refuseUntilFit(draft)
        break
      }
      case 'wait for tools':
      case 'check budget':
      case 'compact':
        return action
      case 'return results':
        returnResults(draft)
        draft.finishStep({ status: 'COMPLETED' })
        break
      case 'store follow-ups':
        storeFollowUps(draft)
        break
      case 'remind':
        draft.changeStep({ stopReason: null, error: null })
        draft.changeRun({ hasOutput: false })
        draft.addMessage('SYSTEM', { content: [{ text: reminder(action.tools) }] })
        break
      case 'correct answer':
        correctAnswer(draft)
        break
      case 'end':
        endRun(draft, action)
        return { type: 'stop' }
      case 'call model': {
        const step = lastStep(draft.state)
        if (!step || isAnswered(step)) draft.startStep(draft.state.agent.model)
        else draft.restartStep(draft.state.agent.model)
        // The budgets are checked again before the next request.
        if (draft.state.budget === 'open') draft.setBudget('unchecked')
        return action
      }
      default:
        return action satisfies never
    }
  }
  return { type: 'stop' }
}

/**
 * The calls that can run. The others get an error as their result. Rules and arguments were checked when the call was
 * made, and are checked again here, because the call may have waited for a long time.
 */
function refuseUnfit(draft: Draft, calls: readonly ToolCall[]): ToolCall[] {
  const fit: ToolCall[] = []
  for (const call of calls) {
    const fault = faultOfCall(draft.state, { ...call, arguments: call.editedArguments ?? call.arguments })
    if (!fault) fit.push(call)
    else if (refuseCall(draft, call, fault).stopsRun) return []
  }
  return fit
}

/**
 * Calls that run one after another come up one at a time. Those that follow a refused call are checked here in one go,
 * because searching again after each of a thousand refusals would take quadratic time.
 */
function refuseUntilFit(draft: Draft): void {
  const calls = callsOfStep(draft.state, currentStep(draft.state).index)
  if (calls.some((call) => call.status === 'RUNNING')) return
  for (const call of calls) {
    if (hasEnded(draft.state.run.status)) return
    if (call.status === 'READY' && refuseUnfit(draft, [call]).length > 0) return
  }
}

/** The call never ran, so it has no start time. */
function refuseCall(draft: Draft, call: ToolCall, fault: CallFault): CallFault {
  draft.settleCall(call.id, 'FAILED', errorResult(fault.message))
  if (fault.stopsRun) {
    const error: RunError = { type: 'INTERNAL_ERROR', message: fault.message, detail: null, retryable: true }
    endRun(draft, { stopReason: 'INVALID_TOOL_CALL', error })
  }
  return fault
}

function reminder(tools: readonly string[]): string {
  return `The turn cannot end yet: ${tools.join(', ')} must be called first.`
}

/** Tells the model why its last answer was not accepted. Without a stop reason, the step counts as told. */
export function correctAnswer(draft: Draft): void {
  draft.addMessage('SYSTEM', { content: [{ text: correctionOf(currentStep(draft.state).error!) }] })
  draft.changeStep({ stopReason: null })
}

export interface Ending {
  readonly stopReason: StopReason
  readonly error?: RunError
}

/**
 * The only way to end a run. Everything open is closed: every call gets its return, follow-ups that no model has read
 * are kept in the conversation, the step is finished, and the lease is cleared. The store releases the conversation.
 */
export function endRun(draft: Draft, { stopReason, error }: Ending): void {
  const status = statusOfStopReason[stopReason]
  if (status === 'AWAITING_APPROVAL') throw new Error('A run that waits for approval has not ended.')

  const step = lastStep(draft.state)
  if (step?.finishedAt === null) {
    for (const call of callsOfStep(draft.state, step.index)) {
      if (!isSettled(call)) draft.settleCall(call.id, 'CANCELLED', unfinishedResult(call, stopReason))
    }
    if (callsOfStep(draft.state, step.index).length > 0) {
      if (step.status === 'PAUSED') addDecisions(draft)
      returnResults(draft)
    }
    draft.finishStep({
      status: status === 'COMPLETED' ? 'COMPLETED' : status,
      stopReason,
      error: error ?? null,
    })
  }
  storeFollowUps(draft)
  draft.changeRun({ lease: null, workerId: null, deaths: 0, finishedAt: draft.at })
  draft.setStatus(status, { stopReason, ...(error ? { error } : {}) })
}

/** Adds the message with the decisions, once no call of the step is pending. */
export function addDecisions(draft: Draft): void {
  const step = currentStep(draft.state)
  if (callsOfStep(draft.state, step.index).some((call) => call.decision)) {
    draft.addMessage('APPROVAL_RESPONSE', {}, { stepIndex: step.index })
  }
}

function returnResults(draft: Draft): void {
  const step = currentStep(draft.state)
  const times = callsOfStep(draft.state, step.index).flatMap((call) =>
    call.startedAt && call.finishedAt ? [call.startedAt.getTime(), call.finishedAt.getTime()] : [],
  )
  draft.returnResults(step.index)
  draft.changeStep({ toolsMs: times.length > 0 ? Math.max(...times) - Math.min(...times) : 0 })
}

function storeFollowUps(draft: Draft): void {
  const { followUps } = draft.state.run
  if (followUps.length === 0) return
  draft.addGivenMessages(followUps)
  draft.changeRun({ followUps: [] })
}

/**
 * The worker died during the call, so the outcome is unknown: repeat the call if that is safe, otherwise tell the
 * model.
 */
function settleLostCall(draft: Draft, call: ToolCall): void {
  if (findTool(draft.state, call.name)?.tool.idempotent) {
    draft.changeCall(call.id, { status: 'READY', startedAt: null })
  } else {
    draft.settleCall(
      call.id,
      'FAILED',
      errorResult('The server stopped while this tool was running. Whether it took effect is unknown.'),
    )
  }
}

function unfinishedResult(call: ToolCall, stopReason: StopReason): ToolResult {
  // The call had started, and the worker that ran it is gone.
  if (call.status === 'RUNNING') {
    return errorResult('The run stopped while this tool was running. Whether it took effect is unknown.')
  }
  return errorResult(
    stopReason === 'CANCELLED'
      ? 'The user cancelled the request, so the tool call was denied.'
      : 'The run stopped before this tool call was made.',
  )
}

export function errorResult(output: string): ToolResult {
  return { status: 'ERROR', output, stdout: [], stderr: [], truncated: false, durationMs: null }
}
