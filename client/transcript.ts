import type {
  MessageFields,
  ProgressFields,
  QueuedRunFields,
  RunEventFields,
  RunFields,
  ToolCallFields,
} from './documents.ts'
import { createLiveSteps, type LiveItem } from './live-steps.ts'
import type { RunStatus, ToolCallStatus } from './schema-types.ts'

/** The queue of a conversation changed: the whole new queue. */
export interface QueueChangedEvent {
  readonly __typename: 'QueueChanged'
  readonly cursor: string
  readonly queue: readonly QueuedRunFields[]
}

/** Another branch became current. Messages after the last shared one are no longer part of it. */
export interface BranchChangedEvent {
  readonly __typename: 'BranchChanged'
  readonly cursor: string
  readonly lastSharedMessage: { readonly id: string; readonly position: number } | null
}

export type TranscriptEvent = RunEventFields | QueueChangedEvent | BranchChangedEvent

type ProgressedEvent = Extract<RunEventFields, { readonly __typename: 'ToolCallProgressed' }>
type TextMessage = Extract<MessageFields, { readonly text: string }>

/** One thing to show, in order. It stays the same object while nothing about it changes. */
export type TranscriptEntry =
  /** A stored message with text. */
  | { readonly kind: 'message'; readonly id: string; readonly runId: string | null; readonly message: TextMessage }
  /** A tool call. Its approval, its result and its status are updated in `call`. */
  | {
      readonly kind: 'call'
      readonly id: string
      readonly runId: string | null
      readonly call: ToolCallFields
      /** What the running call last reported. */
      readonly progress?: ProgressFields
    }
  /** Text or arguments that the model is writing. They become void if their step starts again or its run fails. */
  | ({ readonly kind: 'live' } & LiveItem)

export interface TranscriptRun {
  readonly id: string
  readonly status: RunStatus
  readonly stopReason: RunFields['stopReason']
  readonly error: RunFields['error']
  /** Null until the stream or a snapshot has it. */
  readonly usage: RunFields['usage'] | null
}

export interface TranscriptState {
  readonly entries: readonly TranscriptEntry[]
  /** Calls that wait for a decision or a client's result, in order. */
  readonly pendingCalls: readonly ToolCallFields[]
  /** Runs in the order in which they first appeared. */
  readonly runs: readonly TranscriptRun[]
  /** The run that appeared last, which is the one that holds the conversation, if any. Undefined before the first. */
  readonly latestRun: TranscriptRun | undefined
  /** Runs that wait behind the active one. Always empty for the stream of a run. */
  readonly queue: readonly QueuedRunFields[]
  /** The cursor of the last event: resubscribe with it. */
  readonly cursor: string | undefined
}

/** The result of a query to continue from. */
export interface TranscriptSnapshot {
  readonly messages?: readonly MessageFields[]
  readonly runs?: readonly TranscriptRun[]
  readonly queue?: readonly QueuedRunFields[]
  readonly cursor?: string | undefined
}

export interface Transcript {
  /** A new object after every change, the same one otherwise. */
  readonly state: TranscriptState
  /** False for an event that changed nothing, such as one that is repeated after a reconnect. */
  apply(event: TranscriptEvent): boolean
  /** Starts over from a snapshot. Live text is dropped, because the stream sends it again. */
  load(snapshot: TranscriptSnapshot): void
  /** Adds messages that are older or newer than the known ones. */
  addMessages(messages: readonly MessageFields[]): void
  /** Says of messages by their ids whether they are in the context now. False if that was known. */
  setInContext(messages: readonly Pick<MessageFields, 'id' | 'inContext'>[]): boolean
}

const endedRuns: readonly RunStatus[] = ['COMPLETED', 'FAILED', 'CANCELLED']
const endedCalls: readonly ToolCallStatus[] = ['SUCCEEDED', 'FAILED', 'DENIED', 'CANCELLED']

export const isRunOver = (status: RunStatus): boolean => endedRuns.includes(status)
export const isCallOver = (status: ToolCallStatus): boolean => endedCalls.includes(status)

/**
 * Builds what a person sees from the events of a run or a conversation. An entry of a run's log is identified by its
 * run and `seq`, so events may be repeated, and streams of several runs may be mixed, as long as each run's own events
 * stay in order.
 */
export function createTranscript(snapshot: TranscriptSnapshot = {}): Transcript {
  let messages: MessageFields[] = []
  let messageIds = new Set<string>()
  let calls = new Map<string, ToolCallFields>()
  const progressOf = new WeakMap<ToolCallFields, ProgressFields>()
  let runs = new Map<string, TranscriptRun>()
  let queue: readonly QueuedRunFields[] = []
  let cursor: string | undefined
  let lastSeq = new Map<string, number>()
  let live = createLiveSteps()

  let stored: readonly TranscriptEntry[] | undefined
  let state: TranscriptState | undefined
  let entryOf = new WeakMap<object, TranscriptEntry>()

  function addMessage(message: MessageFields, statusOf = (call: ToolCallFields) => call.status): void {
    const place = placeOf(message)
    messages.splice(place, messages[place]?.id === message.id ? 1 : 0, message)
    messageIds.add(message.id)
    if ('toolCalls' in message) for (const call of message.toolCalls) setCall(call, statusOf(call))
  }

  /** The index of the message, or where it belongs. New messages nearly always belong at the end. */
  function placeOf({ position }: MessageFields): number {
    let place = messages.length
    while (place > 0 && messages[place - 1]!.position >= position) place--
    return place
  }

  /** The end of a call is final. A snapshot may be newer than the events that follow it. */
  function setCall(call: ToolCallFields, status: ToolCallStatus = call.status): void {
    const known = calls.get(call.id)
    if (known && isCallOver(known.status) && !isCallOver(status)) return
    calls.set(call.id, status === call.status ? call : asOf(call, status))
  }

  function applyEntry(event: Extract<RunEventFields, { readonly seq: number }>): void {
    const { runId } = event
    switch (event.__typename) {
      case 'RunStatusChanged': {
        const { status, stopReason, error, usage } = event
        runs.set(runId, { id: runId, status, stopReason, error, usage })
        if (isRunOver(status)) live.clear(runId)
        return
      }
      case 'MessageAdded':
        addMessage(event.message, firstStatus)
        return live.settle(runId, event.message)
      case 'ToolCallChanged':
        return setCall(event.toolCall, event.toolCallStatus)
      case 'StepStarted':
      case 'StepRestarted':
      case 'StepFinished':
        return live.clear(runId)
      case 'ChildRunStarted':
        return
      default:
        event satisfies never
    }
  }

  /** A call that changes status has no progress any more. */
  function applyProgress({ toolCallId, progress }: ProgressedEvent): boolean {
    const call = calls.get(toolCallId)
    if (!call || isCallOver(call.status)) return false
    const moved = { ...call }
    progressOf.set(moved, progress)
    calls.set(toolCallId, moved)
    stored = undefined
    return true
  }

  function applyBranch({ lastSharedMessage }: BranchChangedEvent): void {
    const last = lastSharedMessage?.position ?? 0
    const gone = messages.filter(({ position }) => position > last)
    messages = messages.filter(({ position }) => position <= last)
    for (const message of gone) {
      messageIds.delete(message.id)
      if ('toolCalls' in message) for (const { id } of message.toolCalls) calls.delete(id)
    }
    for (const { id } of runs.values()) live.clear(id)
  }

  function applyNew(event: TranscriptEvent): boolean {
    switch (event.__typename) {
      case 'QueueChanged':
        queue = event.queue
        return true
      case 'BranchChanged':
        applyBranch(event)
        stored = undefined
        return true
      case 'ToolCallProgressed':
        return applyProgress(event)
      case 'TextDelta':
      case 'ToolCallDelta':
        return live.apply(event, (id) => calls.has(id) || messageIds.has(id))
      default:
        if (event.seq <= (lastSeq.get(event.runId) ?? 0)) return false
        lastSeq.set(event.runId, event.seq)
        applyEntry(event)
        stored = undefined
        return true
    }
  }

  function storedEntries(): readonly TranscriptEntry[] {
    return messages.flatMap((message): readonly TranscriptEntry[] => {
      const runId = message.run?.id ?? null
      if ('text' in message) return [entryFor(message, () => ({ kind: 'message', id: message.id, runId, message }))]
      if (!('toolCalls' in message)) return []
      return message.toolCalls.map(({ id }) => {
        const call = calls.get(id)!
        const progress = progressOf.get(call)
        return entryFor(call, () => ({ kind: 'call', id, runId, call, ...(progress && { progress }) }))
      })
    })
  }

  function entryFor(key: object, make: () => TranscriptEntry): TranscriptEntry {
    const entry = entryOf.get(key) ?? make()
    entryOf.set(key, entry)
    return entry
  }

  function build(): TranscriptState {
    stored ??= storedEntries()
    const items = live.items().map((item) => entryFor(item, () => ({ kind: 'live', ...item })))
    const known = [...runs.values()]
    return {
      entries: items.length > 0 ? [...stored, ...items] : stored,
      pendingCalls: stored.flatMap((entry) =>
        entry.kind === 'call' && entry.call.status === 'PENDING' ? [entry.call] : [],
      ),
      runs: known,
      latestRun: known.at(-1),
      queue,
      cursor,
    }
  }

  const transcript: Transcript = {
    get state() {
      return (state ??= build())
    },
    apply(event) {
      const changed = applyNew(event)
      if (changed) {
        cursor = event.cursor
        state = undefined
      }
      return changed
    },
    load(next) {
      messages = []
      messageIds = new Set()
      calls = new Map()
      runs = new Map((next.runs ?? []).map((run) => [run.id, run]))
      queue = next.queue ?? []
      cursor = next.cursor
      lastSeq = new Map()
      live = createLiveSteps()
      entryOf = new WeakMap()
      transcript.addMessages(next.messages ?? [])
    },
    addMessages(more) {
      const isOlder = messages[0] && more.every(({ position }) => position < messages[0]!.position)
      const kept = isOlder ? messages : []
      if (isOlder) messages = []
      for (const message of more) if (!messageIds.has(message.id)) addMessage(message)
      messages.push(...kept)
      stored = undefined
      state = undefined
    },
    setInContext(more) {
      const now = new Map(more.map(({ id, inContext }) => [id, inContext]))
      const isNew = ({ id, inContext }: MessageFields) => (now.get(id) ?? inContext) !== inContext
      if (!messages.some(isNew)) return false
      messages = messages.map((message) => (isNew(message) ? { ...message, inContext: !message.inContext } : message))
      stored = undefined
      state = undefined
      return true
    },
  }
  transcript.load(snapshot)
  return transcript
}

/** The status of a call when it was stored. Later events update it. */
function firstStatus({ needs }: ToolCallFields): ToolCallStatus {
  return needs === 'NOTHING' ? 'READY' : 'PENDING'
}

/** The call as it was when it had this status, for an event that is older than the call's fields. */
function asOf(call: ToolCallFields, status: ToolCallStatus): ToolCallFields {
  const isOver = isCallOver(status)
  return {
    ...call,
    status,
    decision: status === 'PENDING' ? null : call.decision,
    editedArguments: status === 'PENDING' ? null : call.editedArguments,
    startedAt: status === 'RUNNING' || isOver ? call.startedAt : null,
    result: isOver ? call.result : null,
    finishedAt: isOver ? call.finishedAt : null,
  }
}
