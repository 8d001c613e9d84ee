import {
  eventTypeOf,
  type ConversationEvent as DomainConversationEvent,
  type DeltaKind as DomainDeltaKind,
  type EventType as DomainEventType,
  type LogEntry,
  type RunEvent as DomainRunEvent,
} from '../../domain/runs/run-event.ts'
import { encodeId, encodeStepId } from '../../domain/ids.ts'
import { builder, orNull } from '../builder.ts'
import { describedEnum, sentencesOf } from '../described-enum.ts'
import { linkTo, loadExisting, loadQueue } from '../load-existing.ts'
import { RunError, RunStatus, StopReason, Usage } from './run-outcome.ts'
import { Message, Run, Step, ToolCall } from '../refs.ts'
import { loadStep } from './step.ts'
import { ToolCallNeed, ToolCallProgress, ToolCallStatus } from '../tools/tool-call.ts'

type Entry = Extract<DomainRunEvent, { readonly type: 'entry' }>
type EntryOf<Type extends LogEntry['type']> = Entry & { readonly entry: Extract<LogEntry, { readonly type: Type }> }

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
ConversationEvent.implement({
  description: [
    'An event of a conversation: an event of one of its runs, or a change of its queue or current branch. The events after a',
    'cursor are exactly those that follow it, without gaps or repeats, on every server process. Applying an event twice',
    'changes nothing, so a client library may resubscribe with an older cursor.',
  ].join('\n'),
  resolveType,
  fields: (t) => ({
    cursor: t.expose('cursor', {
      type: 'EventCursor',
      description: 'Position of the event. Pass it as `after` to receive what follows.',
    }),
    at: t.expose('at', { type: 'DateTime', description: 'When the event happened.' }),
  }),
})

export const RunEvent = builder.interfaceRef<DomainRunEvent>('RunEvent')
RunEvent.implement({
  description: [
    'An event of a run. Deltas address text by id and offset; all other events name what they change by id. A slow reader',
    'receives fewer and longer deltas, and never loses one.',
  ].join('\n'),
  interfaces: [ConversationEvent],
  resolveType,
  fields: (t) => ({
    runId: t.id({ description: 'Run that the event belongs to.', resolve: (event) => encodeId('Run', event.runId) }),
  }),
})

const RunEntry = builder.interfaceRef<Entry>('RunEntry')
RunEntry.implement({
  description: 'A stored event of a run: every event except deltas and ToolCallProgressed.',
  interfaces: [ConversationEvent, RunEvent],
  resolveType,
  fields: (t) => ({
    seq: t.exposeInt('seq', {
      description: [
        'Number of the entry within its run: 1, 2, 3 and so on, without gaps. Every run has its own numbers, also in',
        '`conversationEvents`: identify an entry by `runId` and `seq` together, and never compare the `seq` of two runs.',
      ].join('\n'),
    }),
  }),
})

const interfaces = [ConversationEvent, RunEvent, RunEntry]

function entryRef<Type extends LogEntry['type']>(_type: Type, name: string) {
  return builder.objectRef<EntryOf<Type>>(name)
}

entryRef('status', typeNames.RUN_STATUS_CHANGED).implement({
  description: 'The run changed status. When it has ended, drop streamed text for which no MessageAdded came.',
  interfaces,
  fields: (t) => ({
    status: t.field({
      type: RunStatus,
      description: 'Status after this change. `run.status` may be newer.',
      resolve: ({ entry }) => entry.status,
    }),
    stopReason: t.field({
      ...orNull('Why the run paused or ended. Null if it did neither.', StopReason),
      resolve: ({ entry }) => entry.stopReason,
    }),
    error: t.field({
      ...orNull('Why the run failed. Null if it did not.', RunError),
      resolve: ({ entry }) => entry.error,
    }),
    usage: t.field({
      type: Usage,
      description: 'Model usage of the run up to this change.',
      resolve: ({ entry }) => entry.usage,
    }),
    run: t.field(linkTo(Run, 'runId', 'The run. Its fields may be newer than this event.')),
  }),
})

entryRef('stepStarted', typeNames.STEP_STARTED).implement({
  description: 'A step started: the model is being called.',
  interfaces,
  fields: (t) => ({
    stepId: t.id({ description: 'Id of the step.', resolve: ({ runId, entry }) => encodeStepId(runId, entry.index) }),
    index: t.int({
      description: "Position among the run's steps, starting at 0.",
      resolve: ({ entry }) => entry.index,
    }),
  }),
})

entryRef('stepRestarted', typeNames.STEP_RESTARTED).implement({
  description:
    'A step starts again, for example because its worker stopped, the provider failed or the context was too long. Drop all text that the step has streamed.',
  interfaces,
  fields: (t) => ({
    stepId: t.id({ description: 'Id of the step.', resolve: ({ runId, entry }) => encodeStepId(runId, entry.index) }),
    attempt: t.int({ description: 'Which attempt this is, starting at 2.', resolve: ({ entry }) => entry.attempt }),
  }),
})

entryRef('stepFinished', typeNames.STEP_FINISHED).implement({
  description: 'A step ended. Drop text that it streamed and for which no MessageAdded came.',
  interfaces,
  fields: (t) => ({
    step: t.field({
      type: Step,
      description: 'The step. Its fields may be newer than this event.',
      resolve: ({ runId, entry }, _args, context) => loadStep(context, { runId, index: entry.index }),
    }),
  }),
})

entryRef('message', typeNames.MESSAGE_ADDED).implement({
  description: 'A message is complete and stored. The text of a streamed message equals the sum of its deltas.',
  interfaces,
  fields: (t) => ({
    message: t.field({
      type: Message,
      description: 'The message.',
      resolve: ({ entry }, _args, { loaders }) => loadExisting(loaders.messages, 'Message', entry.id),
    }),
  }),
})

entryRef('call', typeNames.TOOL_CALL_CHANGED).implement({
  description: 'A tool call changed status, was claimed, or received one of several required approvals.',
  interfaces,
  fields: (t) => ({
    toolCallStatus: t.field({
      type: ToolCallStatus,
      description: 'Status after this change. `toolCall.status` may be newer.',
      resolve: ({ entry }) => entry.status,
    }),
    toolCall: t.field({
      type: ToolCall,
      description: 'The tool call. Its fields may be newer than this event.',
      resolve: ({ entry }, _args, { loaders }) => loadExisting(loaders.toolCalls, 'ToolCall', entry.id),
    }),
  }),
})

entryRef('child', typeNames.CHILD_RUN_STARTED).implement({
  description: "The run's turn started a background run.",
  interfaces,
  fields: (t) => ({
    child: t.field({
      type: Run,
      description: 'The background run.',
      resolve: ({ entry }, _args, { loaders }) => loadExisting(loaders.runs, 'Run', entry.runId),
    }),
  }),
})

const DeltaKind = describedEnum<DomainDeltaKind>('DeltaKind', 'Kind of message that is being written.', {
  ASSISTANT: 'An AssistantMessage.',
  REASONING: 'A ReasoningMessage.',
})

builder.objectRef<Extract<DomainRunEvent, { readonly type: 'text' }>>('TextDelta').implement({
  extensions: { plain: true },
  description:
    'Text of a message while it is being written. Keep the text before `offset` and append `text`; ignore a delta that ends within the text already received.',
  interfaces: [ConversationEvent, RunEvent],
  fields: (t) => ({
    messageId: t.id({
      description: 'Id that the message will have when it is stored.',
      resolve: (delta) => encodeId('Message', delta.messageId),
    }),
    stepId: t.id({ description: 'Id of the step.', resolve: (delta) => encodeStepId(delta.runId, delta.stepIndex) }),
    kind: t.expose('kind', { type: DeltaKind, description: 'Kind of message.' }),
    offset: t.exposeInt('offset', { description: 'Where `text` starts in the message, in UTF-16 code units.' }),
    text: t.exposeString('text', { description: 'Text from `offset` on.' }),
  }),
})

builder.objectRef<Extract<DomainRunEvent, { readonly type: 'call' }>>('ToolCallDelta').implement({
  extensions: { plain: true },
  description: 'Arguments of a tool call while the model writes them. Apply it like a TextDelta.',
  interfaces: [ConversationEvent, RunEvent],
  fields: (t) => ({
    stepId: t.id({ description: 'Id of the step.', resolve: (delta) => encodeStepId(delta.runId, delta.stepIndex) }),
    toolCallId: t.id({
      description: 'Id that the tool call will have when it is stored.',
      resolve: (delta) => encodeId('ToolCall', delta.toolCallId),
    }),
    name: t.exposeString('name', { description: 'Name of the tool.' }),
    needs: t.expose(
      'needs',
      orNull(
        'What the call will wait for. Null while that depends on arguments that are not complete yet.',
        ToolCallNeed,
      ),
    ),
    offset: t.exposeInt('offset', {
      description: 'Where `argumentsText` starts in the arguments, in UTF-16 code units.',
    }),
    argumentsText: t.exposeString('argumentsText', { description: 'Text from `offset` on.' }),
  }),
})

builder.objectRef<Extract<DomainRunEvent, { readonly type: 'progress' }>>('ToolCallProgressed').implement({
  description: [
    'A running tool call reported how far it is, as tools of MCP servers do. Sent at most four times a second per call, and',
    'only live: it is not stored, and a reader that returns gets what is reported next.',
  ].join('\n'),
  interfaces: [ConversationEvent, RunEvent],
  fields: (t) => ({
    toolCallId: t.id({
      description: 'Id of the tool call.',
      resolve: ({ toolCallId }) => encodeId('ToolCall', toolCallId),
    }),
    progress: t.expose('progress', { type: ToolCallProgress, description: 'How far the call is.' }),
  }),
})

builder.objectRef<Extract<DomainConversationEvent, { readonly type: 'queue' }>>('QueueChanged').implement({
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

builder.objectRef<Extract<DomainConversationEvent, { readonly type: 'branch' }>>('BranchChanged').implement({
  description: [
    'Another branch became current, by `editMessage`, `regenerate`, `selectBranch` or `clearConversation`. Drop all messages',
    'after `lastSharedMessage` and load those after it from `Conversation.messages`. Several changes may arrive as one event.',
    'The branch may change again before you load: query `lastCursor` with the messages, and continue after it.',
  ].join('\n'),
  interfaces: [ConversationEvent],
  fields: (t) => ({
    lastSharedMessage: t.field({
      ...orNull('Last message that stays on the current branch. Null means that none does.', Message),
      // A message that has been deleted by now, because the conversation was cleared, is on no branch.
      resolve: ({ lastSharedMessageId: id }, _args, { loaders }) => (id === null ? null : loaders.messages.load(id)),
    }),
  }),
})
