import type { Checkpoint } from '../domain/runs/draft.ts'
import { encodeId } from '../domain/ids.ts'
import type { RunNews } from '../domain/runs/run-news.ts'
import type { Log } from '../util/log.ts'
import type { Metrics } from './metrics.ts'
import { observe, type RunObserver } from './observation.ts'
import { createRunLog } from './run-log.ts'
import { createRunMetrics } from './measure-runs.ts'

export interface Telemetry {
  checkpointStored(checkpoint: Checkpoint): void
  announced(news: RunNews): void
}

/**
 * Reports to logs, metrics and traces what this process stored. They cannot disagree with the record, because they are
 * made from it.
 */
export function createTelemetry(log: Log, metrics: Metrics, spans?: RunObserver): Telemetry {
  const observers: readonly RunObserver[] = [createRunLog(log), createRunMetrics(metrics), ...(spans ? [spans] : [])]
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
