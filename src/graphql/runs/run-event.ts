import { encodeStepId } from '../../domain/ids.ts'
import { noUsage } from '../../domain/models/usage.ts'
import {
  type ConversationEvent as DomainConversationEvent,
  type DeltaKind as DomainDeltaKind,
  type EventType as DomainEventType,
  eventTypeOf,
  type LogEntry,
  type RunEvent as DomainRunEvent,
} from '../../domain/runs/run-event.ts'
import type { Run as DomainRun } from '../../domain/runs/run.ts'
import { builder } from '../builder.ts'
import { describedEnum, sentencesOf } from '../described-enum.ts'
import { cursor, id, idOf, implement, int, of, type Shown, string, time, type ValueOf } from '../fields.ts'
import { linkOrNull, linkTo, loadExisting, loadQueue } from '../load-existing.ts'
import { Message, Run, Step, ToolCall } from '../refs.ts'
import { ToolCallNeed, ToolCallProgress, ToolCallStatus } from '../tools/tool-call.ts'
import { RunError, RunStatus, StopReason, Usage } from './run-outcome.ts'
import { loadStep } from './step.ts'

type Entry = Extract<DomainRunEvent, { readonly type: 'entry' }>
type EntryOf<Type extends LogEntry['type']> = Entry & { readonly entry: Extract<LogEntry, { readonly type: Type }> }

type Delta = Extract<DomainRunEvent, { readonly stepIndex: number }>

const typeNames = {
  RUN_STATUS_CHANGED: 'RunStatusChanged',
  STEP_STARTED: 'StepStarted',
  STEP_FINISHED: 'StepFinished',
  STEP_RESTARTED: 'StepRestarted',
  TEXT_DELTA: 'TextDelta',
  TOOL_CALL_DELTA: 'ToolCallDelta',
  MESSAGE_ADDED: 'MessageAdded',
  TOOL_CALL_CHANGED: 'ToolCallChanged',
  TOOL_CALL_PROGRESSED: 'ToolCallProgressed',
  CHILD_RUN_STARTED: 'ChildRunStarted',
  QUEUE_CHANGED: 'QueueChanged',
  BRANCH_CHANGED: 'BranchChanged',
} as const satisfies Record<DomainEventType, string>

const resolveType = (event: DomainConversationEvent): string => typeNames[eventTypeOf(event)]

export const EventType = describedEnum<DomainEventType>('EventType', 'Type of an event, to filter streams.', {
  ...sentencesOf(typeNames),
  QUEUE_CHANGED: 'QueueChanged. Only in `conversationEvents`.',
  BRANCH_CHANGED: 'BranchChanged. Only in `conversationEvents`.',
})

export const ConversationEvent = builder.interfaceRef<DomainConversationEvent>('ConversationEvent')
implement(ConversationEvent, {
  description: [
    'An event of a conversation: an event of one of its runs, or a change of its queue or current branch. The events after a',
    'cursor are exactly those that follow it, without gaps or repeats, on every server process. Applying an event twice',
    'changes nothing, so a client library may resubscribe with an older cursor.',
  ].join('\n'),
  resolveType,
  fields: () => ({
    cursor: cursor('Position of the event. Pass it as `after` to receive what follows.'),
    at: time('When the event happened.'),
  }),
})

export const RunEvent = builder.interfaceRef<DomainRunEvent>('RunEvent')
implement(RunEvent, {
  description: [
    'An event of a run. Deltas address text by id and offset; all other events name what they change by id. A slow reader',
    'receives fewer and longer deltas, and never loses one.',
  ].join('\n'),
  interfaces: [ConversationEvent],
  resolveType,
  fields: () => ({
    runId: idOf('Run', 'runId', 'Run that the event belongs to.'),
  }),
})

const RunEntry = builder.interfaceRef<Entry>('RunEntry')
implement(RunEntry, {
  description: 'A stored event of a run: every event except deltas and ToolCallProgressed.',
  interfaces: [ConversationEvent, RunEvent],
  resolveType,
  fields: () => ({
    seq: int(
      [
        'Number of the entry within its run: 1, 2, 3 and so on, without gaps. Every run has its own numbers, also in',
        '`conversationEvents`: identify an entry by `runId` and `seq` together, and never compare the `seq` of two runs.',
      ].join('\n'),
    ),
  }),
})

const interfaces = [ConversationEvent, RunEvent, RunEntry]

/** A field that shows this property of its entry. */
function ofEntry<const Key extends string, Options extends Shown>(key: Key, options: Options) {
  const resolve = ({ entry }: { readonly entry: Readonly<Record<Key, ValueOf<Options>>> }) => entry[key]
  return { ...options, resolve }
}

/** A field with the id of the step that an event is about. */
function stepIdOf<Event extends { readonly runId: string }>(indexOf: (event: Event) => number) {
  return { ...id('Id of the step.'), resolve: (event: Event) => encodeStepId(event.runId, indexOf(event)) }
}

function entryRef<Type extends LogEntry['type']>(_type: Type, name: string) {
  return builder.objectRef<EntryOf<Type>>(name)
}

implement(entryRef('status', typeNames.RUN_STATUS_CHANGED), {
  description: 'The run changed status. When it has ended, drop streamed text for which no MessageAdded came.',
  interfaces,
  fields: () => ({
    status: ofEntry('status', of(RunStatus)('Status after this change. `run.status` may be newer.')),
    stopReason: ofEntry('stopReason', of(StopReason).orNull('Why the run paused or ended. Null if it did neither.')),
    error: ofEntry('error', of(RunError).orNull('Why the run failed. Null if it did not.')),
    usage: ofEntry('usage', of(Usage)('Model usage of the run up to this change.')),
    run: linkTo(Run, 'runId', 'The run. Its fields may be newer than this event.'),
  }),
})

implement(entryRef('stepStarted', typeNames.STEP_STARTED), {
  description: 'A step started: the model is being called.',
  interfaces,
  fields: () => ({
    stepId: stepIdOf(({ entry }: EntryOf<'stepStarted' | 'stepRestarted'>) => entry.index),
    index: ofEntry('index', int("Position among the run's steps, starting at 0.")),
  }),
})

implement(entryRef('stepRestarted', typeNames.STEP_RESTARTED), {
  description:
    'A step starts again, for example because its worker stopped, the provider failed or the context was too long. Drop all text that the step has streamed.',
  interfaces,
  fields: () => ({
    stepId: stepIdOf(({ entry }: EntryOf<'stepStarted' | 'stepRestarted'>) => entry.index),
    attempt: ofEntry('attempt', int('Which attempt this is, starting at 2.')),
  }),
})

implement(entryRef('stepFinished', typeNames.STEP_FINISHED), {
  description: 'A step ended. Drop text that it streamed and for which no MessageAdded came.',
  interfaces,
  fields: (t) => ({
    step: t.field({
      ...of(Step)('The step. Its fields may be newer than this event.'),
      resolve: ({ runId, entry }, _args, context) => loadStep(context, { runId, index: entry.index }),
    }),
  }),
})

implement(entryRef('message', typeNames.MESSAGE_ADDED), {
  description: 'A message is complete and stored. The text of a streamed message equals the sum of its deltas.',
  interfaces,
  fields: (t) => ({
    message: t.field({
      ...of(Message)('The message.'),
      resolve: ({ entry }, _args, { loaders }) => loadExisting(loaders.messages, 'Message', entry.id),
    }),
  }),
})

implement(entryRef('call', typeNames.TOOL_CALL_CHANGED), {
  description: 'A tool call changed status, was claimed, or received one of several required approvals.',
  interfaces,
  fields: (t) => ({
    toolCallStatus: ofEntry('status', of(ToolCallStatus)('Status after this change. `toolCall.status` may be newer.')),
    toolCall: t.field({
      ...of(ToolCall)('The tool call. Its fields may be newer than this event.'),
      resolve: ({ entry }, _args, { loaders }) => loadExisting(loaders.toolCalls, 'ToolCall', entry.id),
    }),
  }),
})

implement(entryRef('child', typeNames.CHILD_RUN_STARTED), {
  description: "The run's turn started a background run.",
  interfaces,
  fields: (t) => ({
    child: t.field({
      ...of(Run)('The background run. If it was deleted, one that has its id and was cancelled before it began.'),
      resolve: async ({ runId, entry, at }, _args, { loaders }) => {
        const child = await loaders.runs.load(entry.runId)
        return child ?? { ...(await loadExisting(loaders.runs, 'Run', runId)), ...deletedChild(entry.runId, runId, at) }
      },
    }),
  }),
})

/** The event of a deleted run stays, and the log can be read. */
function deletedChild(id: string, parentId: string, at: Date) {
  return {
    ...{ id, parentId, kind: 'SLEEPTIME', sentBy: null, scheduleId: null, number: 0, hold: null, previousHold: null },
    ...{ resumed: null, status: 'CANCELLED', stopReason: 'CANCELLED', error: null, hasOutput: false, nextSeq: 1 },
    ...{ firstPosition: null, nextPosition: null, attempts: 0, cancelRequestedAt: null, cancelledBy: null },
    ...{ usage: noUsage, steps: 0, createdAt: at, updatedAt: at, startedAt: null, finishedAt: at },
  } as const satisfies Partial<DomainRun>
}

const DeltaKind = describedEnum<DomainDeltaKind>('DeltaKind', 'Kind of message that is being written.', {
  ASSISTANT: 'An AssistantMessage.',
  REASONING: 'A ReasoningMessage.',
})

implement(builder.objectRef<Extract<DomainRunEvent, { readonly type: 'text' }>>('TextDelta'), {
  extensions: { plain: true },
  description:
    'Text of a message while it is being written. Keep the text before `offset` and append `text`; ignore a delta that ends within the text already received.',
  interfaces: [ConversationEvent, RunEvent],
  fields: () => ({
    messageId: idOf('Message', 'messageId', 'Id that the message will have when it is stored.'),
    stepId: stepIdOf(({ stepIndex }: Delta) => stepIndex),
    kind: of(DeltaKind)('Kind of message.'),
    offset: int('Where `text` starts in the message, in UTF-16 code units.'),
    text: string('Text from `offset` on.'),
  }),
})

implement(builder.objectRef<Extract<DomainRunEvent, { readonly type: 'call' }>>('ToolCallDelta'), {
  extensions: { plain: true },
  description: 'Arguments of a tool call while the model writes them. Apply it like a TextDelta.',
  interfaces: [ConversationEvent, RunEvent],
  fields: () => ({
    stepId: stepIdOf(({ stepIndex }: Delta) => stepIndex),
    toolCallId: idOf('ToolCall', 'toolCallId', 'Id that the tool call will have when it is stored.'),
    name: string('Name of the tool.'),
    needs: of(ToolCallNeed).orNull(
      'What the call will wait for. Null while that depends on arguments that are not complete yet.',
    ),
    offset: int('Where `argumentsText` starts in the arguments, in UTF-16 code units.'),
    argumentsText: string('Text from `offset` on.'),
  }),
})

implement(builder.objectRef<Extract<DomainRunEvent, { readonly type: 'progress' }>>('ToolCallProgressed'), {
  description: [
    'A running tool call reported how far it is, as tools of MCP servers do. Sent at most four times a second per call, and',
    'only live: it is not stored, and a reader that returns gets what is reported next.',
  ].join('\n'),
  interfaces: [ConversationEvent, RunEvent],
  fields: () => ({
    toolCallId: idOf('ToolCall', 'toolCallId', 'Id of the tool call.'),
    progress: of(ToolCallProgress)('How far the call is.'),
  }),
})

implement(builder.objectRef<Extract<DomainConversationEvent, { readonly type: 'queue' }>>('QueueChanged'), {
  description: [
    'The queue of the conversation changed: a run was queued, started, cancelled or moved. Replace the known queue with this',
    'one. Several changes may arrive as one event.',
    'Also sent to a reader that was away for so long that events it has not had were deleted.',
  ].join('\n'),
  interfaces: [ConversationEvent],
  fields: (t) => ({
    queue: t.field({
      type: [Run],
      description:
        'Queued runs, in the order in which they will start, exactly as `cursor` names them. `Run.input` has their messages; the fields of a run may be newer than this event. At most 1,000: the first ones.',
      resolve: ({ runIds }, _args, context) => loadQueue(context, runIds),
    }),
  }),
})

implement(builder.objectRef<Extract<DomainConversationEvent, { readonly type: 'branch' }>>('BranchChanged'), {
  description: [
    'Another branch became current, by `editMessage`, `regenerate`, `selectBranch` or `clearConversation`. Drop all messages',
    'after `lastSharedMessage` and load those after it from `Conversation.messages`. Several changes may arrive as one event.',
    'The branch may change again before you load: query `lastCursor` with the messages, and continue after it.',
  ].join('\n'),
  interfaces: [ConversationEvent],
  fields: () => ({
    // A message that has been deleted by now, because the conversation was cleared, is on no branch.
    lastSharedMessage: linkOrNull(
      Message,
      'lastSharedMessageId',
      'Last message that stays on the current branch. Null means that none does.',
    ),
  }),
})
