import {
  followRun,
  isCallOver,
  isRunOver,
  RunSnapshot,
  type Client,
  type RunEventFields,
  type RunStatus,
  type ToolCallFields,
} from '../client/index.ts'

/** The events of a run as parts of messages, which is how user interfaces build them. */
export type RunPart =
  | { readonly type: 'step-start' | 'step-end' }
  /** Everything since `step-start` that has no `text-end` or `call` is void. */
  | { readonly type: 'step-reset' }
  | { readonly type: 'text-start' | 'text-end'; readonly id: string; readonly kind: TextKind }
  | { readonly type: 'text'; readonly id: string; readonly kind: TextKind; readonly text: string }
  | { readonly type: 'call-start'; readonly id: string; readonly name: string }
  | { readonly type: 'call-text'; readonly id: string; readonly text: string }
  /** The call is complete. */
  | { readonly type: 'call'; readonly call: ToolCallFields }
  | { readonly type: 'call-end'; readonly call: ToolCallFields }
  /** The last part, if the run waits for these calls. */
  | { readonly type: 'pause'; readonly calls: readonly ToolCallFields[] }
  /** The last part, if the run has ended. */
  | { readonly type: 'end'; readonly status: RunStatus; readonly message: string | undefined }

export type TextKind = 'ASSISTANT' | 'REASONING'

export interface RunPartsOptions {
  /** Start after this cursor instead of at the beginning of the run. */
  readonly after?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** Follows a run until it waits for someone or has ended, through lost connections. */
export async function* runParts(client: Client, runId: string, options: RunPartsOptions = {}): AsyncGenerator<RunPart> {
  const waiting: RunPart[] = []
  let wake = Promise.withResolvers<void>()
  /** Set once nothing more will arrive. */
  const ending: { over?: true; error?: Error | undefined } = {}
  const toParts = createPartMaker()
  const finish = (error?: Error): void => {
    Object.assign(ending, { over: true, error })
    wake.resolve()
  }
  const follower = followRun(client, runId, {
    ...(options.after !== undefined && { after: options.after }),
    onEvent(event) {
      waiting.push(...toParts(event))
      wake.resolve()
    },
    onError: finish,
    onEnd: () => finish(),
  })
  const abort = (): void => finish()
  options.signal?.addEventListener('abort', abort)
  try {
    for (;;) {
      for (const part of waiting.splice(0)) {
        if (part.type !== 'pause') yield part
        // A replay continues past earlier pauses.
        else if (await isPaused(client, runId)) return yield { ...part, calls: follower.transcript.state.pendingCalls }
      }
      if (ending.error) throw ending.error
      if (ending.over && waiting.length === 0) return
      if (waiting.length > 0) continue
      await wake.promise
      wake = Promise.withResolvers<void>()
    }
  } finally {
    options.signal?.removeEventListener('abort', abort)
    follower.stop()
  }
}

async function isPaused(client: Client, runId: string): Promise<boolean> {
  const { run } = await client.request(RunSnapshot, { id: runId })
  return run?.status === 'AWAITING_APPROVAL'
}

/** Remembers how much of each text and call has been sent, so that nothing is sent twice or skipped. */
function createPartMaker(): (event: RunEventFields) => RunPart[] {
  const sent = new Map<string, number>()

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
        return [...reset(), { type: 'step-end' }]
      case 'TextDelta':
        return textParts(event.messageId, event.kind, event.offset, event.text)
      case 'ToolCallDelta':
        return callParts(event.toolCallId, event.name, event.offset, event.argumentsText)
      case 'MessageAdded':
        return messageParts(event)
      case 'ToolCallChanged':
        return isCallOver(event.toolCallStatus) ? [{ type: 'call-end', call: event.toolCall }] : []
      case 'RunStatusChanged': {
        const { status } = event
        if (status === 'AWAITING_APPROVAL') return [{ type: 'pause', calls: [] }]
        return isRunOver(status) ? [...reset(), { type: 'end', status, message: event.error?.message }] : []
      }
      default:
        return []
    }
  }
}
