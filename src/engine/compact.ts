import type { CompactionSettings } from '../domain/agents/agent.ts'
import type { Measured } from '../domain/runs/answer.ts'
import { withCurrentCalls } from '../domain/context/build-model-request.ts'
import { firstToStay, planCompaction, unitsOf, type CompactionPlan } from '../domain/context/compaction.ts'
import { toModelMessages, type ContextMessage } from '../domain/context/context.ts'
import type { RunFailure } from '../domain/context/context-overflow.ts'
import type { RunState } from '../domain/runs/run-state.ts'
import { cutSummary, summaryRequest } from '../domain/context/summary.ts'
import { weighUnits } from '../domain/context/request-weight.ts'
import { cutReturns } from '../domain/tools/tool-output.ts'
import { callWithFallbacks } from './call-with-fallbacks.ts'
import type { EngineContext } from './engine-context.ts'

export interface CompactionSubject {
  readonly state: RunState
  /** The context before compaction. */
  readonly history: readonly ContextMessage[]
  readonly settings: CompactionSettings
  /** The size that the context must fit into, in tokens. */
  readonly window: number
  /** The tokens of the system prompt and the tools. */
  readonly fixed: number
  readonly signal: AbortSignal
  /** Called for every request to a model, even if it fails. */
  readonly onRequest: (measured: Measured) => void
}

export type CompactionOutcome =
  | {
      readonly outcome: 'compacted'
      readonly text: string
      /** The position of the first message that stays, or null if none does. */
      readonly keptFrom: number | null
    }
  /** Nothing may be summarised, or a summary would not help. */
  | { readonly outcome: 'nothing to do' }
  | ({ readonly outcome: 'failure' } & RunFailure)
  | { readonly outcome: 'aborted' }

/**
 * Summarises the oldest part of a context. Stores nothing, so a crash leaves the context unchanged. If the summary
 * fails, it tries once more: it then summarises everything that may go, with the agent's own model, which works if the
 * agent works at all.
 */
export async function compact(context: EngineContext, subject: CompactionSubject): Promise<CompactionOutcome> {
  const { settings, state } = subject
  const attempts = [
    { settings, model: settings.model ?? state.agent.model, transcriptShare: 0.6 },
    { settings: { ...settings, mode: 'ALL' as const }, model: state.agent.model, transcriptShare: 0.3 },
  ]
  const units = unitsOf(subject.history.map((entry) => withCurrentCalls(state, entry)))
  const weights = weighUnits(
    units.map((unit) => cutReturns(toModelMessages(unit, state.agent), subject.window)),
    context.countTokens,
  )
  const task = {
    units: units.map((unit, place) => ({ messages: unit.length, weight: weights[place]! })),
    firstToStay: firstToStay(units, state.run.id),
    fixed: subject.fixed,
    window: subject.window,
  }
  let failure: CompactionOutcome | undefined
  for (const attempt of attempts) {
    const plan = planCompaction({ ...task, settings: attempt.settings })
    if (!plan) break
    const outcome = await summarise(context, subject, { ...attempt, plan, units })
    if (outcome.outcome !== 'failure') return outcome
    failure = outcome
  }
  return failure ?? { outcome: 'nothing to do' }
}

interface Attempt {
  readonly model: string
  readonly transcriptShare: number
  readonly plan: CompactionPlan
  readonly units: readonly (readonly ContextMessage[])[]
}

async function summarise(
  context: EngineContext,
  subject: CompactionSubject,
  { model, transcriptShare, plan, units }: Attempt,
): Promise<CompactionOutcome> {
  const summary = subject.history.filter(({ message }) => message.type === 'SUMMARY')
  const request = summaryRequest([...summary, ...units.slice(0, plan.evict).flat()], {
    model,
    fallbacks: subject.state.agent.modelSettings.fallbacks,
    prompt: subject.settings.prompt,
    transcriptTokens: Math.floor(windowOf(context, subject, model) * transcriptShare),
  })
  const live = { seq: 0, stepIndex: 0, items: [] }
  const answer = await callWithFallbacks(context, subject.state.run.id, request, live, { signal: subject.signal })
  subject.onRequest(answer.outcome === 'answer' ? answer.answer : answer.measured)
  if (answer.outcome === 'aborted') return { outcome: 'aborted' }
  if (answer.outcome === 'failure') return failed(answer)
  const text = answer.answer.items.flatMap((item) => (item.kind === 'ASSISTANT' ? [item.text] : [])).join('\n')
  if (text.trim() === '') return failed(emptySummary)
  return {
    outcome: 'compacted',
    text: cutSummary(text, plan.summaryTokens),
    keptFrom: units[plan.evict]?.[0]?.message.position ?? null,
  }
}

/** The agent may limit its own model to a smaller window than the model has. */
function windowOf(context: EngineContext, { state, window }: CompactionSubject, model: string): number {
  const own = context.catalog.find(model)?.contextWindow ?? window
  return model === state.agent.model ? Math.min(own, window) : own
}

const emptySummary: RunFailure = {
  stopReason: 'INVALID_LLM_RESPONSE',
  error: { type: 'LLM_ERROR', message: 'The model returned an empty summary.', detail: null, retryable: true },
}

function failed({ error, stopReason }: RunFailure): CompactionOutcome {
  const message = `The context is too long, and summarising it failed: ${error.message}`
  return { outcome: 'failure', stopReason, error: { ...error, message } }
}
