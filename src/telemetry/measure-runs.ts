import { hasEnded } from '../domain/runs/run.ts'
import { isSettled, type ToolCall } from '../domain/tools/tool-call.ts'
import type { Metrics } from './metrics.ts'
import { decisionNow, type Observation, type ObservedRun, type RunObserver } from './observation.ts'

/** In seconds, from a cached answer to a slow tool. */
const workBounds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
/** In seconds, because people decide at once or after days. */
const waitBounds = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400, 604_800]

/** Counts what this process stored about runs. */
export function measureRuns(metrics: Metrics): RunObserver {
  const meters = createMeters(metrics)
  return (observed) => {
    countSpent(meters, observed)
    const { asked } = observed
    if (asked) {
      meters.modelDuration(asked.modelMs! / 1000, { model: asked.model })
      if (asked.timeToFirstTokenMs !== null)
        meters.timeToFirstToken(asked.timeToFirstTokenMs / 1000, { model: asked.model })
    }
    for (const observation of observed.observations) countObservation(meters, observed, observation)
  }
}

type Meters = ReturnType<typeof createMeters>

function createMeters(metrics: Metrics) {
  const seconds = (name: string, help: string, bounds = workBounds) =>
    metrics.histogram({ name, unit: 's', help, bounds })
  return {
    ended: metrics.counter({
      name: 'holdpoint.runs.ended',
      unit: '{run}',
      help: 'Runs that ended, by status, stop reason, kind and the model that was asked last.',
    }),
    queueWait: seconds('holdpoint.queue.wait', 'Time from accepting a run until a worker first takes it.'),
    runDuration: seconds(
      'holdpoint.run.duration',
      'Time from accepting a run to its end, pauses included.',
      waitBounds,
    ),
    modelDuration: seconds('holdpoint.model.duration', 'Time that requests to models took, by model.'),
    timeToFirstToken: seconds('holdpoint.model.time_to_first_token', 'Time until a model sent its first token.'),
    stepDuration: seconds(
      'holdpoint.step.duration',
      'Time that the model and the tools of a step took, without waits.',
    ),
    toolDuration: seconds('holdpoint.tool.duration', 'Time that tool calls ran on the server, by tool and result.'),
    approvalWait: seconds('holdpoint.approval.wait', 'Time that tool calls waited for a person or client.', waitBounds),
    tokens: metrics.counter({
      name: 'holdpoint.tokens',
      unit: '{token}',
      help: 'Tokens by model and type. Cached input and reasoning are parts of input and output.',
    }),
    cost: metrics.counter({
      name: 'holdpoint.cost',
      unit: 'USD',
      help: 'Cost in US dollars by model, where the price is known.',
    }),
  }
}

function countSpent({ tokens, cost }: Meters, { spent, model = 'none' }: ObservedRun): void {
  const counts = {
    input: spent.inputTokens,
    output: spent.outputTokens,
    cached_input: spent.cachedInputTokens,
    reasoning: spent.reasoningTokens,
  }
  for (const [type, count] of Object.entries(counts)) if (count > 0) tokens(count, { model, type })
  if (spent.costUsd !== null && spent.costUsd > 0) cost(spent.costUsd, { model })
}

function countObservation(meters: Meters, observed: ObservedRun, observation: Observation): void {
  const { run, at, model = 'none' } = observed
  switch (observation.type) {
    case 'status': {
      const { status, previous } = observation
      const sinceAccepted = secondsBetween(run.createdAt, at)
      if (status === 'RUNNING' && previous === 'QUEUED') meters.queueWait(sinceAccepted)
      if (!hasEnded(status)) return
      meters.ended(1, { status, stop_reason: run.stopReason ?? 'none', kind: run.kind, model })
      return meters.runDuration(sinceAccepted, { status })
    }
    case 'stepFinished': {
      const { modelMs, toolsMs, status, model: asked } = observation.step
      return meters.stepDuration(((modelMs ?? 0) + (toolsMs ?? 0)) / 1000, { model: asked, status })
    }
    case 'call':
      return countCall(meters, observed, observation.call)
    case 'stepStarted':
    case 'stepRestarted':
      return
    default:
      observation satisfies never
  }
}

function countCall(meters: Meters, { at }: ObservedRun, call: ToolCall): void {
  const decision = decisionNow(call, at)?.kind
  if (decision) meters.approvalWait(secondsBetween(call.createdAt, at), { tool: call.name, decision })
  // A call that was never started may name a tool that does not exist.
  if (!isSettled(call) || call.startedAt === null || call.finishedAt === null) return
  meters.toolDuration(secondsBetween(call.startedAt, call.finishedAt), { tool: call.name, status: call.status })
}

function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, to.getTime() - from.getTime()) / 1000
}
