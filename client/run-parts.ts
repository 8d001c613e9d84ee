import type { Client } from './client.ts'
import {
  RunSnapshot,
  type ProgressFields,
  type RunEventFields,
  type ToolCallFields,
  type UsageFields,
} from './documents.ts'
import { followRun } from './follow-run.ts'
import type { RunStatus, StopReason } from './schema-types.ts'
import { isCallOver, isRunOver } from './transcript.ts'

/** The events of a run as parts of messages, which is how user interfaces build them. */
export type RunPart =
  | { readonly type: 'step-start' }
  | { readonly type: 'step-end'; readonly model: string | undefined }
  /** Everything since `step-start` that has no `text-end` or `call` is void. */
  | { readonly type: 'step-reset' }
  | { readonly type: 'text-start' | 'text-end'; readonly id: string; readonly kind: TextKind }
  | { readonly type: 'text'; readonly id: string; readonly kind: TextKind; readonly text: string }
  | { readonly type: 'call-start'; readonly id: string; readonly name: string }
  | { readonly type: 'call-text'; readonly id: string; readonly text: string }
  /** The call is complete. */
  | { readonly type: 'call'; readonly call: ToolCallFields }
  /** The running call reported how far it is. */
  | { readonly type: 'call-progress'; readonly id: string; readonly progress: ProgressFields }
  | { readonly type: 'call-end'; readonly call: ToolCallFields }
  /** The last part, if the run waits. Calls are those that it waits for. */
  | { readonly type: 'pause'; readonly calls: readonly ToolCallFields[]; readonly cursor: string }
  /** The last part, if the run has ended. */
  | {
      readonly type: 'end'
      readonly status: RunStatus
      readonly message: string | undefined
      readonly stopReason: StopReason | null
      readonly usage: UsageFields | null
      readonly at: string
    }

export type TextKind = 'ASSISTANT' | 'REASONING'

export interface RunPartsOptions {
  /**
   * The calls that the reader has, and whether it has their results. Parts up to the last of these calls are omitted,
   * but not results that the reader does not have, whoever decided meanwhile.
   */
  readonly known?: ReadonlyMap<string, boolean> | undefined
  readonly signal?: AbortSignal | undefined
}

/** Follows a run from its beginning until it waits for someone or has ended, through lost connections. */
export async function* runParts(
  client: Client,
  runId: string,
  { known, signal }: RunPartsOptions = {},
): AsyncGenerator<RunPart> {
  const waiting: RunPart[] = []
  let wake = Promise.withResolvers<void>()
  /** Set once nothing more will arrive. */
  const ending: { over?: true; error?: Error | undefined } = {}
  const toParts = createPartMaker()
  const isNew = createFilter(known ?? new Map())
  const finish = (error?: Error): void => {
    Object.assign(ending, { over: true, error })
    wake.resolve()
  }
  const follower = followRun(client, runId, {
    onEvent(event) {
      waiting.push(...toParts(event).filter(isNew))
      wake.resolve()
    },
    onError: finish,
    onEnd: () => finish(),
  })
  const abort = (): void => finish()
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  try {
    for (;;) {
      for (const part of waiting.splice(0)) {
        if (part.type !== 'pause') yield part
        // What a replay shows of earlier pauses is over.
        else if (part.calls.length > 0 || (await isPausedAt(client, runId, part.cursor))) return yield part
      }
      if (ending.error) throw ending.error
      if (ending.over && waiting.length === 0) return
      if (waiting.length > 0) continue
      await wake.promise
      wake = Promise.withResolvers<void>()
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    follower.stop()
  }
}

/** Whether a run without waiting calls, such as one that waits for a budget, is still where it was at this event. */
async function isPausedAt(client: Client, runId: string, cursor: string): Promise<boolean> {
  const { run } = await client.request(RunSnapshot, { id: runId })
  return run?.status === 'AWAITING_APPROVAL' && run.lastCursor === cursor
}

/** Whether a part is new to a reader who has these calls. */
function createFilter(known: ReadonlyMap<string, boolean>): (part: RunPart) => boolean {
  const ahead = new Set(known.keys())
  return (part) => {
    if (part.type === 'pause' || part.type === 'end') return true
    if (part.type === 'call-progress') return true
    if (part.type === 'call-end') return !known.get(part.call.id)
    if (ahead.size === 0) return true
    if (part.type === 'call') ahead.delete(part.call.id)
    return false
  }
}

/** Remembers how much of each text and call has been sent, so that nothing is sent twice or skipped. */
function createPartMaker(): (event: RunEventFields) => RunPart[] {
  const sent = new Map<string, number>()
  /** The calls as they were when their last event was read, which may be later than the event. */
  const calls = new Map<string, ToolCallFields>()

  function reset(): RunPart[] {
    if (sent.size === 0) return []
    sent.clear()
    return [{ type: 'step-reset' }]
  }

  function textParts(id: string, kind: TextKind, offset: number, text: string): RunPart[] {
    const known = sent.get(id)
    const fresh = text.slice((known ?? 0) - offset)
    sent.set(id, (known ?? 0) + fresh.length)
    return [
      ...(known === undefined ? [{ type: 'text-start', id, kind } as const] : []),
      ...(fresh === '' ? [] : [{ type: 'text', id, kind, text: fresh } as const]),
    ]
  }

  function callParts(id: string, name: string, offset: number, text: string): RunPart[] {
    const known = sent.get(id)
    const fresh = text.slice((known ?? 0) - offset)
    sent.set(id, (known ?? 0) + fresh.length)
    return [
      ...(known === undefined ? [{ type: 'call-start', id, name } as const] : []),
      ...(fresh === '' ? [] : [{ type: 'call-text', id, text: fresh } as const]),
    ]
  }

  function messageParts({ message }: Extract<RunEventFields, { readonly __typename: 'MessageAdded' }>): RunPart[] {
    switch (message.__typename) {
      case 'AssistantMessage':
      case 'ReasoningMessage': {
        const kind = message.__typename === 'AssistantMessage' ? 'ASSISTANT' : 'REASONING'
        const parts = textParts(message.id, kind, 0, message.text)
        sent.delete(message.id)
        return [...parts, { type: 'text-end', id: message.id, kind }]
      }
      case 'ToolCallMessage':
      case 'ApprovalRequestMessage':
        return message.toolCalls.flatMap((call): RunPart[] => {
          const parts = callParts(call.id, call.name, 0, call.argumentsText)
          sent.delete(call.id)
          calls.set(call.id, call)
          return [...parts, { type: 'call', call }]
        })
      default:
        return []
    }
  }

  return (event) => {
    switch (event.__typename) {
      case 'StepStarted':
        return [{ type: 'step-start' }]
      case 'StepRestarted':
        return reset()
      case 'StepFinished':
        return [...reset(), { type: 'step-end', model: event.step.model }]
      case 'TextDelta':
        return textParts(event.messageId, event.kind, event.offset, event.text)
      case 'ToolCallDelta':
        return callParts(event.toolCallId, event.name, event.offset, event.argumentsText)
      case 'MessageAdded':
        return messageParts(event)
      case 'ToolCallChanged':
        calls.set(event.toolCall.id, event.toolCall)
        return isCallOver(event.toolCallStatus) ? [{ type: 'call-end', call: event.toolCall }] : []
      case 'ToolCallProgressed':
        return [{ type: 'call-progress', id: event.toolCallId, progress: event.progress }]
      case 'RunStatusChanged': {
        const { status, stopReason, usage, at, cursor } = event
        if (status === 'AWAITING_APPROVAL')
          return [{ type: 'pause', calls: [...calls.values()].filter((call) => call.status === 'PENDING'), cursor }]
        if (!isRunOver(status)) return []
        return [...reset(), { type: 'end', status, stopReason, usage, at, message: event.error?.message }]
      }
      default:
        return []
    }
  }
}
