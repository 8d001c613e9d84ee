import type { DeltaKind as DomainDeltaKind, LogEntry, RunEvent as DomainRunEvent } from '../domain/run-event.ts'
import { builder } from './builder.ts'
import { loadExisting } from './load-existing.ts'
import { encodeId, encodeStepId } from './node.ts'
import { RunError, RunStatus, StopReason, Usage } from './run-outcome.ts'
import { Message, Run, Step, ToolCall } from './run-refs.ts'
import { loadStep } from './step.ts'
import { ToolCallNeed, ToolCallStatus } from './tool-call.ts'

type Entry = Extract<DomainRunEvent, { readonly type: 'entry' }>
type EntryOf<Type extends LogEntry['type']> = Entry & { readonly entry: Extract<LogEntry, { readonly type: Type }> }

const entryTypeNames = {
  status: 'RunStatusChanged',
  stepStarted: 'StepStarted',
  stepRestarted: 'StepRestarted',
  stepFinished: 'StepFinished',
  message: 'MessageAdded',
  call: 'ToolCallChanged',
  child: 'ChildRunStarted',
} as const satisfies Record<LogEntry['type'], string>

function typeNameOf(event: DomainRunEvent): string {
  switch (event.type) {
    case 'entry':
      return entryTypeNames[event.entry.type]
    case 'text':
      return 'TextDelta'
    case 'call':
      return 'ToolCallDelta'
    default:
      return event satisfies never
  }
}

export const RunEvent = builder.interfaceRef<DomainRunEvent>('RunEvent')
RunEvent.implement({
  description: [
    'Something that happened in a run, in order. A stream that is resumed at a cursor sends exactly the events that follow it,',
    'without a gap or a repeat, however often the client reconnects and whichever process it reaches. Applying an event twice',
    'changes nothing, because a delta names its message and offset: a client library that silently resubscribes with an old',
    'cursor does no harm. A slow reader gets fewer and longer deltas, and loses none.',
  ].join('\n'),
  resolveType: typeNameOf,
  fields: (t) => ({
    cursor: t.expose('cursor', {
      type: 'EventCursor',
      description: 'Pass it as `after` to get the events that follow.',
    }),
    runId: t.id({ description: 'The run in which it happened.', resolve: (event) => encodeId('Run', event.runId) }),
    at: t.expose('at', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const RunEntry = builder.interfaceRef<Entry>('RunEntry')
RunEntry.implement({
  description: 'An event that is stored. All events are, except deltas.',
  interfaces: [RunEvent],
  resolveType: typeNameOf,
  fields: (t) => ({
    seq: t.exposeInt('seq', { description: "The entry's number in the log of its run: 1, 2, 3 … without gaps." }),
  }),
})

const interfaces = [RunEvent, RunEntry]

function entryRef<Type extends LogEntry['type']>(type: Type) {
  return builder.objectRef<EntryOf<Type>>(entryTypeNames[type])
}

entryRef('status').implement({
  description: "The run's status changed.",
  interfaces,
  fields: (t) => ({
    status: t.field({
      type: RunStatus,
      description: 'The status that the run changed to. `run.status` is its status now.',
      resolve: ({ entry }) => entry.status,
    }),
    stopReason: t.field({
      type: StopReason,
      nullable: true,
      description: 'Why the run paused or ended. Null if it did neither.',
      resolve: ({ entry }) => entry.stopReason,
    }),
    error: t.field({
      type: RunError,
      nullable: true,
      description: 'Why the run failed. Null if it did not.',
      resolve: ({ entry }) => entry.error,
    }),
    usage: t.field({
      type: Usage,
      description: 'What the run had used of models up to this event.',
      resolve: ({ entry }) => entry.usage,
    }),
    run: t.field({
      type: Run,
      description: 'The run as it is now.',
      resolve: ({ runId }, _args, { loaders }) => loadExisting(loaders.runs, 'Run', runId),
    }),
  }),
})

entryRef('stepStarted').implement({
  description: 'A step begins: a request is sent to the model.',
  interfaces,
  fields: (t) => ({
    stepId: t.id({ description: 'Id of the step.', resolve: ({ runId, entry }) => encodeStepId(runId, entry.index) }),
    index: t.int({ description: "The step's number in the run, starting at 0.", resolve: ({ entry }) => entry.index }),
  }),
})

entryRef('stepRestarted').implement({
  description:
    'The step starts again: its worker died or was drained, or its context was too long. Drop the text that the deltas of the step have built.',
  interfaces,
  fields: (t) => ({
    stepId: t.id({ description: 'Id of the step.', resolve: ({ runId, entry }) => encodeStepId(runId, entry.index) }),
    attempt: t.int({ description: 'Which attempt this is, starting at 2.', resolve: ({ entry }) => entry.attempt }),
  }),
})

entryRef('stepFinished').implement({
  description:
    'The step is over. Drop text of its deltas that has no MessageAdded by now: it will not be stored. Do the same when a RunStatusChanged ends the run.',
  interfaces,
  fields: (t) => ({
    step: t.field({
      type: Step,
      description: 'The step as it is now.',
      resolve: ({ runId, entry }, _args, context) => loadStep(context, { runId, index: entry.index }),
    }),
  }),
})

entryRef('message').implement({
  description:
    'A message is complete and stored. The text of a message that was streamed equals the sum of its deltas.',
  interfaces,
  fields: (t) => ({
    message: t.field({
      type: Message,
      description: 'The message.',
      resolve: ({ entry }, _args, { loaders }) => loadExisting(loaders.messages, 'Message', entry.id),
    }),
  }),
})

entryRef('call').implement({
  description: "A tool call's status changed.",
  interfaces,
  fields: (t) => ({
    toolCallStatus: t.field({
      type: ToolCallStatus,
      description: 'The status that the call changed to. `toolCall.status` is its status now.',
      resolve: ({ entry }) => entry.status,
    }),
    toolCall: t.field({
      type: ToolCall,
      description: 'The call as it is now.',
      resolve: ({ entry }, _args, { loaders }) => loadExisting(loaders.toolCalls, 'ToolCall', entry.id),
    }),
  }),
})

entryRef('child').implement({
  description: "A background run was started for this run's turn.",
  interfaces,
  fields: (t) => ({
    child: t.field({
      type: Run,
      description: 'The background run as it is now.',
      resolve: ({ entry }, _args, { loaders }) => loadExisting(loaders.runs, 'Run', entry.runId),
    }),
  }),
})

const DeltaKind = builder.enumType('DeltaKind', {
  description: 'The kind of message that is being written.',
  values: {
    ASSISTANT: { description: 'An AssistantMessage.' },
    REASONING: { description: 'A ReasoningMessage.' },
  } satisfies Record<DomainDeltaKind, { description: string }>,
})

builder.objectRef<Extract<DomainRunEvent, { readonly type: 'text' }>>('TextDelta').implement({
  extensions: { plain: true },
  description:
    'A piece of the text of a message that is being written. Keep the first `offset` UTF-16 code units that you have, and append `text`.',
  interfaces: [RunEvent],
  fields: (t) => ({
    messageId: t.id({
      description: 'The id that the message will have once it is stored.',
      resolve: (delta) => encodeId('Message', delta.messageId),
    }),
    stepId: t.id({ description: 'Id of the step.', resolve: (delta) => encodeStepId(delta.runId, delta.stepIndex) }),
    kind: t.expose('kind', { type: DeltaKind, description: 'The kind of the message.' }),
    offset: t.exposeInt('offset', { description: "Where `text` begins in the message's text, in UTF-16 code units." }),
    text: t.exposeString('text', { description: 'The text of this piece.' }),
  }),
})

builder.objectRef<Extract<DomainRunEvent, { readonly type: 'call' }>>('ToolCallDelta').implement({
  extensions: { plain: true },
  description: 'A piece of the arguments of a tool call that the model is writing.',
  interfaces: [RunEvent],
  fields: (t) => ({
    stepId: t.id({ description: 'Id of the step.', resolve: (delta) => encodeStepId(delta.runId, delta.stepIndex) }),
    toolCallId: t.id({
      description: 'The id that the call will have once it is stored.',
      resolve: (delta) => encodeId('ToolCall', delta.toolCallId),
    }),
    name: t.exposeString('name', { description: 'The name of the tool.' }),
    needs: t.expose('needs', {
      type: ToolCallNeed,
      nullable: true,
      description: 'What the call will wait for. Null while that depends on arguments that are not complete yet.',
    }),
    offset: t.exposeInt('offset', {
      description: 'Where `argumentsText` begins in the text of the arguments, in UTF-16 code units.',
    }),
    argumentsText: t.exposeString('argumentsText', { description: 'The text of this piece.' }),
  }),
})
