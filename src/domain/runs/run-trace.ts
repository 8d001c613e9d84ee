import { hexOfUuid } from '../../util/ids.ts'
import { derivedSpanId, parseTraceparent, type TraceContext } from '../../util/trace-context.ts'
import type { Run } from './run.ts'

/** The part of a run that identifies its spans. */
type TracedRun = Pick<Run, 'id'> & { readonly traceparent: string | null }

/**
 * A run's own span. Its ids are derived from what is stored, so all processes that drive the run, before and after a
 * pause, a crash or a restart, write spans of the same trace. Without a `traceparent`, the trace has the run's id.
 */
export function traceOfRun(run: TracedRun): TraceContext & { readonly parentSpanId: string | null } {
  const parent = parseTraceparent(run.traceparent)
  return {
    traceId: parent?.traceId ?? hexOfUuid(run.id),
    spanId: derivedSpanId('run', run.id),
    parentSpanId: parent?.spanId ?? null,
    sampled: parent?.sampled ?? true,
  }
}

export function stepSpanId(runId: string, index: number): string {
  return derivedSpanId('step', runId, index)
}

export function modelSpanId(runId: string, index: number, attempt: number): string {
  return derivedSpanId('model', runId, index, attempt)
}

export function waitSpanId(callId: string): string {
  return derivedSpanId('wait', callId)
}

export function callSpanId(callId: string): string {
  return derivedSpanId('call', callId)
}
