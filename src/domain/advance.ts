import { faultOfCall, type CallFault } from './call-check.ts'
import type { Draft } from './draft.ts'
import { nextAction } from './next-action.ts'
import { callsOfStep, findTool, isAnswered, lastStep } from './run-state.ts'
import { hasEnded, statusOfStopReason, type RunError, type StopReason } from './run.ts'
import { isSettled, type ToolCall, type ToolResult } from './tool-call.ts'

/** What is left to do in the world once a draft is stored. */
export type Effect =
  | { readonly type: 'call model' }
  | { readonly type: 'compact' }
  | { readonly type: 'run tools'; readonly calls: readonly ToolCall[] }
  | { readonly type: 'wait for tools' }
  /** Paused or ended: the worker lets go. */
  | { readonly type: 'stop' }

/**
 * Takes a draft as far as thinking alone can: everything up to the next model call, tool or pause joins the same
 * checkpoint, and so does the mark that says what starts now. A crash then shows what was under way.
 */
export function advance(draft: Draft): Effect {
  // The change itself may have ended the run: nothing follows from that.
  if (hasEnded(draft.state.run.status)) return { type: 'stop' }
  for (;;) {
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
        draft.changeRun({ lease: null, workerId: null, fruitlessAttempts: 0 })
        return { type: 'stop' }
      case 'run tools': {
        const refused = findRefused(draft, action.calls)
        if (refused) {
          refuseCall(draft, refused)
          if (refused.fault.stopsRun) return { type: 'stop' }
          break
        }
        draft.startCalls(action.calls)
        return action
      }
      case 'wait for tools':
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
        draft.changeStep({ stopReason: null })
        draft.addMessage('SYSTEM', { content: [{ text: reminder(action.tools) }] })
        break
      case 'end':
        endRun(draft, { stopReason: action.stopReason })
        return { type: 'stop' }
      case 'call model': {
        const step = lastStep(draft.state)
        if (!step || isAnswered(step)) draft.startStep(draft.state.agent.model)
        else draft.restartStep(draft.state.agent.model)
        return action
      }
      default:
        return action satisfies never
    }
  }
}

interface RefusedCall {
  readonly call: ToolCall
  readonly fault: CallFault
}

/** Rules and arguments are looked at when a call is made, and once more before it runs: it may have waited long. */
function findRefused(draft: Draft, calls: readonly ToolCall[]): RefusedCall | undefined {
  for (const call of calls) {
    const fault = faultOfCall(draft.state, { ...call, arguments: call.editedArguments ?? call.arguments })
    if (fault) return { call, fault }
  }
  return undefined
}

/** It never ran, so it has no beginning. */
function refuseCall(draft: Draft, { call, fault }: RefusedCall): void {
  draft.settleCall(call.id, 'FAILED', errorResult(fault.message))
  if (!fault.stopsRun) return
  const error: RunError = { type: 'INTERNAL_ERROR', message: fault.message, detail: null, retryable: true }
  endRun(draft, { stopReason: 'INVALID_TOOL_CALL', error })
}

function reminder(tools: readonly string[]): string {
  return `The turn cannot end yet: ${tools.join(', ')} must be called first.`
}

export interface Ending {
  readonly stopReason: StopReason
  readonly error?: RunError
}

/**
 * The only way to end a run. Whatever is open is closed: every call gets its return, follow-ups that nobody has read
 * are kept in the conversation, the step is finished, and the lease is given up. Releasing the conversation is the
 * store's part of it.
 */
export function endRun(draft: Draft, { stopReason, error }: Ending): void {
  const status = statusOfStopReason(stopReason)
  if (status === 'AWAITING_APPROVAL') throw new Error('A run that waits for approval has not ended.')

  const step = lastStep(draft.state)
  if (step && step.finishedAt === null) {
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
  draft.changeRun({ lease: null, workerId: null, finishedAt: draft.at })
  draft.setStatus(status, { stopReason, ...(error ? { error } : {}) })
}

/** The message that tells what was decided, once nothing of the step is pending any more. */
export function addDecisions(draft: Draft): void {
  const step = lastStep(draft.state)!
  if (callsOfStep(draft.state, step.index).some((call) => call.decision)) {
    draft.addMessage('APPROVAL_RESPONSE', {}, { stepIndex: step.index })
  }
}

function returnResults(draft: Draft): void {
  const step = lastStep(draft.state)!
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

/** Its worker is gone and nobody knows what it had done: again if that is safe, else the model is told. */
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
  // It had begun, and whoever ran it is gone.
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
