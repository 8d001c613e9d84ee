import type { Checkpoint } from '../domain/runs/draft.ts'
import { encodeId, shownRunIds } from '../domain/ids.ts'
import type { RunNews } from '../domain/runs/run-news.ts'
import type { Log } from '../util/log.ts'
import type { Metrics } from './metrics.ts'
import { decisionNow, observe, type Observation, type ObservedRun, type RunObserver } from './observation.ts'
import { measureRuns } from './measure-runs.ts'
import { hasEnded } from '../domain/runs/run.ts'

export interface Telemetry {
  checkpointStored(checkpoint: Checkpoint): void
  announced(news: RunNews): void
}

/**
 * Reports to logs, metrics and traces what this process stored. They cannot disagree with the record, because they are
 * made from it.
 */
export function createTelemetry(log: Log, metrics: Metrics, spans?: RunObserver): Telemetry {
  const observers: readonly RunObserver[] = [logRuns(log), measureRuns(metrics), ...(spans ? [spans] : [])]
  return {
    checkpointStored(checkpoint) {
      const observed = observe(checkpoint)
      for (const tell of observers) tell(observed)
    },
    announced({ runId, conversationId, tenantId, status }) {
      // Not about a run: another branch of the conversation became current.
      if (runId === null) return
      const ids = { runId: encodeId('Run', runId), conversationId: encodeId('Conversation', conversationId) }
      log.debug(
        { ...ids, tenantId: encodeId('Tenant', tenantId), status },
        status === 'QUEUED' ? 'run accepted' : 'run announced',
      )
    },
  }
}

/** Logs the end of each run and each failed step. With `LOG_LEVEL=debug`, also logs each step and decision. */
function logRuns(log: Log): RunObserver {
  return (observed) => {
    if (!log.isLevelEnabled('warn')) return
    for (const observation of observed.observations) logObservation(log, observed, observation)
  }
}

function logObservation(log: Log, observed: ObservedRun, observation: Observation): void {
  const ids = shownRunIds(observed.run)
  switch (observation.type) {
    case 'status':
      return logStatus(log, observed, observation)
    case 'stepStarted':
    case 'stepRestarted': {
      const { index, attempt, model } = observation.step
      const text = observation.type === 'stepStarted' ? 'step started' : 'step restarted'
      return log.debug({ ...ids, step: index, attempt, model }, text)
    }
    case 'stepFinished': {
      const { index, attempt, model, status, modelMs, toolsMs, error } = observation.step
      const facts = { ...ids, step: index, attempt, model, modelMs, toolsMs }
      if (status === 'FAILED') return log.warn({ ...facts, error }, 'step failed')
      return log.debug({ ...facts, status }, 'step finished')
    }
    case 'call': {
      const { call, status } = observation
      const facts = { ...ids, toolCallId: encodeId('ToolCall', call.id), tool: call.name, status, needs: call.needs }
      const decision = decisionNow(call, observed.at)
      if (!decision) return log.debug(facts, 'tool call')
      return log.debug(
        { ...facts, decision: decision.kind, decidedBy: decision.actor?.id ?? null },
        'tool call decided',
      )
    }
    default:
      observation satisfies never
  }
}

function logStatus(
  log: Log,
  { run, at }: ObservedRun,
  { status, previous }: Extract<Observation, { readonly type: 'status' }>,
): void {
  const facts = { ...shownRunIds(run), status }
  if (!hasEnded(status)) return log.debug({ ...facts, previous, attempt: run.attempts }, 'run changed its status')
  const { stopReason, steps, usage, error } = run
  const ended = { ...facts, stopReason, steps, ...usage, durationMs: at.getTime() - run.createdAt.getTime() }
  if (status === 'FAILED') log.warn({ ...ended, error }, 'run ended')
  else log.info(ended, 'run ended')
}
