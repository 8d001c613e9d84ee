import type { Measured } from '../domain/runs/answer.ts'
import { isUnavailable, type ModelFailure } from '../domain/models/fallback.ts'
import type { LiveStep } from '../domain/runs/live-step.ts'
import type { ModelRequest } from '../domain/models/model-request.ts'
import { noUsage, sumOfUsage, type Usage } from '../domain/models/usage.ts'
import { callModel, type CallOptions, type ModelOutcome } from './call-model.ts'
import type { EngineContext } from './engine-context.ts'

/**
 * Asks the model and, as long as none is available, its fallbacks in turn. Once something has been streamed, readers
 * have seen it, so a failure then is final.
 */
export async function callWithFallbacks(
  context: EngineContext,
  runId: string,
  request: ModelRequest,
  live: LiveStep,
  options: CallOptions,
): Promise<ModelOutcome> {
  const fallbacks = [...request.settings.fallbacks]
  const failed: (ModelFailure & { readonly usage: Usage })[] = []
  for (let { model } = request; ;) {
    const next = fallbacks.shift()
    const asked = { ...request, model, hasFallback: next !== undefined }
    const outcome = await callModel(context, runId, asked, live, options)
    const unavailable = outcome.outcome === 'failure' && live.items.length === 0 && isUnavailable(outcome.error)
    if (next === undefined || !unavailable) return withFailed(outcome, failed)
    context.log.warn({ runId, model, error: outcome.error, next }, 'a model is not available: the next one is asked')
    failed.push({ model, error: outcome.error, usage: outcome.measured.usage })
    model = next
  }
}

function withFailed(outcome: ModelOutcome, failed: readonly (ModelFailure & { readonly usage: Usage })[]) {
  if (failed.length === 0) return outcome
  const all = <Taken extends Measured>(taken: Taken): Taken => ({
    ...taken,
    usage: failed.map(({ usage }) => usage).reduce(sumOfUsage, sumOfUsage(noUsage, taken.usage)),
    requests: taken.requests + failed.length,
    failedModels: failed.map(({ model, error }) => ({ model, error })),
  })
  return outcome.outcome === 'answer'
    ? { ...outcome, answer: all(outcome.answer) }
    : { ...outcome, measured: all(outcome.measured) }
}
