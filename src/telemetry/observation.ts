import type { Checkpoint } from '../domain/runs/draft.ts'
import type { NewMessage } from '../domain/conversations/message.ts'
import type { DrivenRun } from '../domain/runs/run-state.ts'
import type { StoredRunStatus } from '../domain/runs/run.ts'
import type { Usage } from '../domain/models/usage.ts'
import type { Step } from '../domain/runs/step.ts'
import type { Decision, ToolCall, ToolCallStatus } from '../domain/tools/tool-call.ts'

/** What a stored checkpoint says about a run: the entries that readers get, with the objects that they are about. */
export type Observation =
  | { readonly type: 'status'; readonly status: StoredRunStatus; readonly previous: StoredRunStatus }
  | { readonly type: 'stepStarted' | 'stepRestarted' | 'stepFinished'; readonly step: Step }
  | { readonly type: 'call'; readonly status: ToolCallStatus; readonly call: ToolCall }

export interface ObservedRun {
  /** The state that the checkpoint stored. */
  readonly run: DrivenRun
  readonly at: Date
  /** The model of the step that the checkpoint is about. Undefined if it is about no step. */
  readonly model: string | undefined
  /** The step whose model answered, failed or was stopped. Null for any other checkpoint. */
  readonly asked: Step | null
  /** What requests to models used since the run's last checkpoint. */
  readonly spent: Usage
  /** Messages that were added to the conversation. */
  readonly messages: readonly NewMessage[]
  readonly observations: readonly Observation[]
}

/** Called after the commit of every change of a run that this process stored. Must not throw. */
export type RunObserver = (observed: ObservedRun) => void

export function observe(checkpoint: Checkpoint): ObservedRun {
  const { before, after: run, at, entries } = checkpoint
  const steps = [...checkpoint.newSteps, ...checkpoint.changedSteps]
  const calls = new Map([...checkpoint.newCalls, ...checkpoint.changedCalls].map((call) => [call.id, call]))
  let previous = before.status
  const observations = entries.flatMap((entry): Observation[] => {
    switch (entry.type) {
      case 'status': {
        const observation = { type: entry.type, status: entry.status, previous }
        previous = entry.status
        return [observation]
      }
      case 'stepStarted':
      case 'stepRestarted':
      case 'stepFinished': {
        const step = steps.find(({ index }) => index === entry.index)
        return step ? [{ type: entry.type, step }] : []
      }
      case 'call': {
        const call = calls.get(entry.id)
        return call ? [{ type: entry.type, status: entry.status, call }] : []
      }
      default:
        return []
    }
  })
  return {
    run,
    at,
    model: steps.at(-1)?.model,
    asked: checkpoint.asked,
    spent: usageBetween(before.usage, run.usage),
    messages: checkpoint.messages.map(({ message }) => message),
    observations,
  }
}

function usageBetween(before: Usage, after: Usage): Usage {
  const costUsd = before.costUsd === null || after.costUsd === null ? null : after.costUsd - before.costUsd
  return {
    inputTokens: after.inputTokens - before.inputTokens,
    outputTokens: after.outputTokens - before.outputTokens,
    cachedInputTokens: after.cachedInputTokens - before.cachedInputTokens,
    reasoningTokens: after.reasoningTokens - before.reasoningTokens,
    costUsd,
  }
}

/** What the checkpoint of this time decided about the call: by a person, by a client, or because its approval expired. */
export function decisionNow(call: ToolCall, at: Date): Decision | null {
  return call.decidedAt?.getTime() === at.getTime() ? call.decision : null
}
