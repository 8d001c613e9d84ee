import { approvalTerms } from '../approvals/call-approvals.ts'
import type { Draft } from './draft.ts'
import type { ModelFailure } from '../models/fallback.ts'
import type { LiveItem } from './live-step.ts'
import { withPrefilled } from '../tools/call-check.ts'
import { parseArguments } from '../tools/call-notes.ts'
import { errorResult } from './advance.ts'
import { faultOfAnswer, responseSchemaOf } from './response-schema.ts'
import { currentStep, findTool, type RunState } from './run-state.ts'
import type { StopReason } from './run.ts'
import { sumOfUsage, type Usage } from '../models/usage.ts'
import { looksAtHistory } from '../tools/tool-rule-solver.ts'
import { needOf } from '../tools/tool-call-need.ts'
import type { ToolCall } from '../tools/tool-call.ts'

/** What a request to a model cost, however it ended, including requests to models that were not available. */
export interface Measured {
  /** The model that answered, or the last one that was asked. */
  readonly model: string
  readonly failedModels: readonly ModelFailure[]
  readonly requests: number
  /** The provider's counts, or an estimate if the provider reported none. */
  readonly usage: Usage
  /** Null if nothing was streamed. */
  readonly timeToFirstTokenMs: number | null
  readonly modelMs: number
}

/** A model's complete answer. */
export interface Answer extends Measured {
  readonly items: readonly LiveItem[]
  readonly stopReason: Extract<StopReason, 'END_TURN' | 'MAX_TOKENS_EXCEEDED'>
}

/**
 * Stores a complete answer: its reasoning and text as messages, its calls with what each waits for. If one call must
 * wait, the other calls of the step wait with it: no call of an answer runs before a person has seen them all.
 */
export function addAnswer(draft: Draft, answer: Answer): void {
  const step = currentStep(draft.state)
  addTexts(draft, answer.items, { interrupted: false })

  const calls = keptCalls(draft.state, answer.items).map(({ item, place }, ordinal) => {
    const written = { name: item.name, arguments: parseArguments(item.text) ?? null, argumentsText: item.text, ordinal }
    const used = { ...written, arguments: withPrefilled(draft.state, written) }
    const wanted = needOf(draft.state, used)
    // Nobody watches a background run, so a call that would wait for someone is denied at once.
    const denied = draft.state.run.kind === 'SLEEPTIME' && wanted !== 'NOTHING'
    const needs = denied ? 'NOTHING' : wanted
    const tool = findTool(draft.state, item.name)?.tool
    const call: ToolCall = {
      id: item.id,
      tenantId: draft.state.run.tenantId,
      runId: draft.state.run.id,
      stepIndex: step.index,
      ordinal,
      providerCallId: item.providerCallId,
      name: item.name,
      argumentsText: item.text,
      arguments: used.arguments,
      editedArguments: null,
      needs,
      status: denied ? 'DENIED' : needs === 'NOTHING' ? 'READY' : 'PENDING',
      approval: tool && needs === 'APPROVAL' ? approvalTerms(tool) : null,
      claim: null,
      decision: null,
      decidedAt: null,
      result: denied ? errorResult(deniedInBackground) : null,
      createdAt: draft.at,
      expiresAt: needs === 'NOTHING' ? null : expiryOf(draft.at, tool?.approvalTimeoutMs),
      startedAt: null,
      finishedAt: denied ? draft.at : null,
    }
    draft.addCall(call)
    return { call, place }
  })

  const own = calls.filter(({ call }) => call.needs === 'NOTHING')
  const waiting = calls.filter(({ call }) => call.needs !== 'NOTHING')
  for (const [type, group] of [['TOOL_CALL', own] as const, ['APPROVAL_REQUEST', waiting] as const]) {
    if (group.length === 0) continue
    draft.addMessage(type, {}, { stepIndex: step.index, items: group.map(({ place }) => place) })
  }
  for (const { call } of calls) if (call.status !== 'READY') draft.announceCall(call)

  addMeasured(draft, answer)
  if (calls.length === 0) finishAnsweredStep(draft, answer)
}

/**
 * A final answer must satisfy the response schema. An answer that was cut at its maximum length is not requested again.
 */
function finishAnsweredStep(draft: Draft, { items, stopReason }: Answer): void {
  const schema = responseSchemaOf(draft.state)
  const text = items.findLast(({ kind }) => kind === 'ASSISTANT')?.text ?? ''
  const fault = schema === null ? undefined : faultOfAnswer(schema, text)
  draft.changeRun({ hasOutput: schema !== null && !fault })
  draft.finishStep(
    fault && stopReason === 'END_TURN'
      ? { status: 'COMPLETED', stopReason: 'RESPONSE_SCHEMA_NOT_SATISFIED', error: fault }
      : { status: 'COMPLETED', stopReason },
  )
}

/** Adds the usage of a request to its step and to the run. The tokens of earlier attempts at the step stay counted. */
export function addMeasured(draft: Draft, measured: Measured): void {
  const { model, failedModels, usage, timeToFirstTokenMs, modelMs } = measured
  draft.addUsage(measured)
  draft.changeStep({
    model,
    failedModels,
    usage: sumOfUsage(currentStep(draft.state).usage, usage),
    timeToFirstTokenMs: timeToFirstTokenMs === null ? null : toTenths(timeToFirstTokenMs),
    modelMs: toTenths(modelMs),
  })
}

const deniedInBackground =
  'This tool has to be approved or run by a person, and nobody watches a background run. The call was denied: go on without it.'

/** When a waiting call is denied because nobody decided. Client tools of the request have no such limit. */
function expiryOf(at: Date, timeoutMs: number | null | undefined): Date | null {
  return timeoutMs ? new Date(at.getTime() + timeoutMs) : null
}

/**
 * Stores what a cancelled model had written: its text so far, exactly as it was streamed. An incomplete tool call is
 * dropped, and so is reasoning that a provider would not accept again: unsigned, or with nothing after it.
 */
export function addInterruptedAnswer(draft: Draft, items: readonly LiveItem[], measured: Measured): void {
  addMeasured(draft, measured)
  const said = items.map((item) => (item.complete ? item : { ...item, text: withoutHalfCharacter(item.text) }))
  const lastText = said.findLastIndex((item) => item.kind === 'ASSISTANT' && item.text !== '')
  const kept = said.map((item, place) =>
    item.kind === 'REASONING' && (place > lastText || !item.complete || item.provider === null) ? undefined : item,
  )
  addTexts(draft, kept, { interrupted: true })
}

/** Readers are sent a surrogate pair only when both halves have arrived, so a lone half is dropped. */
function withoutHalfCharacter(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '').toWellFormed()
}

/** An omitted item keeps its index, because a reader's cursor may name it. */
function addTexts(
  draft: Draft,
  items: readonly (LiveItem | undefined)[],
  { interrupted }: { readonly interrupted: boolean },
): void {
  const stepIndex = currentStep(draft.state).index
  for (const [place, item] of items.entries()) {
    if (!item) continue
    const options = { id: item.id, stepIndex, items: [place] }
    if (item.kind === 'REASONING') {
      draft.addMessage('REASONING', { text: item.text, redacted: item.redacted, provider: item.provider }, options)
    } else if (item.kind === 'ASSISTANT' && item.text !== '') {
      draft.addMessage('ASSISTANT', { text: item.text, interrupted, provider: item.provider }, options)
    }
  }
}

/** All calls, or only the first if the agent allows one at a time and the provider ignored that. */
function keptCalls(state: RunState, items: readonly LiveItem[]) {
  const calls = items.flatMap((item, place) => (item.kind === 'CALL' ? [{ item, place }] : []))
  return allowsParallelCalls(state) ? calls : calls.slice(0, 1)
}

export function allowsParallelCalls(state: Pick<RunState, 'agent'>): boolean {
  const { modelSettings, toolRules } = state.agent
  return modelSettings.parallelToolCalls && !looksAtHistory(toolRules)
}

/** Rounded to the precision of the database, so that the state equals a reloaded one. */
function toTenths(ms: number): number {
  return Math.round(ms * 10) / 10
}
