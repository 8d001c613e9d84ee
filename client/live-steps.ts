import type { MessageFields, RunEventFields } from './documents.ts'
import type { ToolCallNeed } from './schema-types.ts'

/** A message or tool call that the model is writing. */
export interface LiveItem {
  /** The id that the message or call will have when it is stored. */
  readonly id: string
  readonly runId: string
  readonly stepId: string
  readonly role: 'ASSISTANT' | 'REASONING' | 'TOOL_CALL'
  /** The name of the tool. Empty for text. */
  readonly name: string
  /** What a tool call will wait for. Null for text, and while that depends on arguments that are not complete. */
  readonly needs: ToolCallNeed | null
  /** What has been written so far: text, or the JSON of arguments. */
  readonly text: string
}

type Delta = Extract<RunEventFields, { readonly __typename: 'TextDelta' | 'ToolCallDelta' }>

export interface LiveSteps {
  /** False if the text is already known, or belongs to something that is stored by now. */
  apply(delta: Delta, isStored: (id: string) => boolean): boolean
  /** The message is stored, so its streamed text is no longer needed. */
  settle(runId: string, message: MessageFields): void
  /** Everything that the run's step has streamed and not stored is void. */
  clear(runId: string): void
  /** In the order in which they appeared, run by run. */
  items(): readonly LiveItem[]
}

/** The steps that are being written, one per run. */
export function createLiveSteps(): LiveSteps {
  const steps = new Map<string, Map<string, LiveItem>>()
  /** A new attempt uses new ids, so a delta of one of these can only be a repeat. */
  const voided = new Set<string>()

  return {
    apply(delta, isStored) {
      const fresh = itemOf(delta)
      const step = steps.get(delta.runId) ?? new Map<string, LiveItem>()
      const known = step.get(fresh.id)?.text ?? ''
      if (delta.offset + fresh.text.length <= known.length && step.has(fresh.id)) return false
      if (delta.offset > known.length || voided.has(fresh.id) || isStored(fresh.id)) return false
      step.set(fresh.id, { ...fresh, text: known.slice(0, delta.offset) + fresh.text })
      steps.set(delta.runId, step)
      return true
    },
    settle(runId, message) {
      const step = steps.get(runId)
      if ('toolCalls' in message) for (const { id } of message.toolCalls) step?.delete(id)
      else step?.delete(message.id)
    },
    clear(runId) {
      for (const id of steps.get(runId)?.keys() ?? []) voided.add(id)
      steps.delete(runId)
    },
    items: () => [...steps.values()].flatMap((step) => [...step.values()]),
  }
}

function itemOf(delta: Delta): LiveItem {
  const { runId, stepId } = delta
  return delta.__typename === 'TextDelta'
    ? { id: delta.messageId, runId, stepId, role: delta.kind, name: '', needs: null, text: delta.text }
    : {
        id: delta.toolCallId,
        runId,
        stepId,
        role: 'TOOL_CALL',
        name: delta.name,
        needs: delta.needs,
        text: delta.argumentsText,
      }
}
