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
    'What happened in a run, in order. The events after a cursor are exactly those that follow it: no gap, no repeat,',
    'however often the client reconnects and to whichever process. Applying an event twice changes nothing, because deltas',
    'address text by message and offset: a client library that silently resubscribes with an old cursor does no harm.',
    'A slow reader gets fewer, longer deltas: never a lost one.',
  ].join('\n'),
  resolveType: typeNameOf,
  fields: (t) => ({
    cursor: t.expose('cursor', { type: 'EventCursor', description: 'Pass it as `after` to get what follows.' }),
    runId: t.id({ description: 'The run it happened in.', resolve: (event) => encodeId('Run', event.runId) }),
    at: t.expose('at', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const RunEntry = builder.interfaceRef<Entry>('RunEntry')
RunEntry.implement({
  description: 'An event that is stored: everything but deltas.',
  interfaces: [RunEvent],
  resolveType: typeNameOf,
  fields: (t) => ({
    seq: t.exposeInt('seq', { description: "Its place in the run's log: 1, 2, 3 … without gaps." }),
  }),
})

const interfaces = [RunEvent, RunEntry]

function entryRef<Type extends LogEntry['type']>(type: Type) {
  return builder.objectRef<EntryOf<Type>>(entryTypeNames[type])
}

entryRef('status').implement({
  description: 'The run changed status.',
  interfaces,
  fields: (t) => ({
    status: t.field({
      type: RunStatus,
      description: 'The status it changed to. `run.status` is what it has now.',
      resolve: ({ entry }) => entry.status,
    }),
    stopReason: t.field({
      type: StopReason,
      nullable: true,
      description: 'Why it paused or ended. Null where it did neither.',
      resolve: ({ entry }) => entry.stopReason,
    }),
    error: t.field({
      type: RunError,
      nullable: true,
      description: 'What it failed of. Null where it did not.',
      resolve: ({ entry }) => entry.error,
    }),
    usage: t.field({
      type: Usage,
      description: 'What the run had used of models by then.',
      resolve: ({ entry }) => entry.usage,
    }),
    run: t.field({
      type: Run,
      description: 'The run, as it is now.',
      resolve: ({ runId }, _args, { loaders }) => loadExisting(loaders.runs, 'Run', runId),
    }),
  }),
})

entryRef('stepStarted').implement({
  description: 'A step begins: the model is asked.',
  interfaces,
  fields: (t) => ({
    stepId: t.id({ description: 'The step.', resolve: ({ runId, entry }) => encodeStepId(runId, entry.index) }),
    index: t.int({ description: 'Its place among the steps, from 0.', resolve: ({ entry }) => entry.index }),
  }),
})

entryRef('stepRestarted').implement({
  description:
    'The step is made again: its worker died or was drained, or its context was too long. Drop what the deltas of the step have built.',
  interfaces,
  fields: (t) => ({
    stepId: t.id({ description: 'The step.', resolve: ({ runId, entry }) => encodeStepId(runId, entry.index) }),
    attempt: t.int({ description: 'The how manieth time it is made, from 2.', resolve: ({ entry }) => entry.attempt }),
  }),
})

entryRef('stepFinished').implement({
  description:
    'Whatever its deltas built without a MessageAdded will not come: drop it. The same holds for an ending RunStatusChanged.',
  interfaces,
  fields: (t) => ({
    step: t.field({
      type: Step,
      description: 'The step, as it is now.',
      resolve: ({ runId, entry }, _args, context) => loadStep(context, { runId, index: entry.index }),
    }),
  }),
})

entryRef('message').implement({
  description: 'A message is complete and stored. For a message that was streamed, it equals the sum of its deltas.',
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
  description: 'A tool call changed status: pending, ready, running, succeeded, failed, denied, cancelled.',
  interfaces,
  fields: (t) => ({
    toolCallStatus: t.field({
      type: ToolCallStatus,
      description: 'The status it changed to. `toolCall.status` is what it has now.',
      resolve: ({ entry }) => entry.status,
    }),
    toolCall: t.field({
      type: ToolCall,
      description: 'The call, as it is now.',
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
      description: 'The background run, as it is now.',
      resolve: ({ entry }, _args, { loaders }) => loadExisting(loaders.runs, 'Run', entry.runId),
    }),
  }),
})

const DeltaKind = builder.enumType('DeltaKind', {
  description: 'What kind of message is being written.',
  values: {
    ASSISTANT: { description: 'An AssistantMessage.' },
    REASONING: { description: 'A ReasoningMessage.' },
  } satisfies Record<DomainDeltaKind, { description: string }>,
})

builder.objectRef<Extract<DomainRunEvent, { readonly type: 'text' }>>('TextDelta').implement({
  extensions: { plain: true },
  description: 'Text of a message as it is being written. `offset` is where `text` begins, in UTF-16 code units.',
  interfaces: [RunEvent],
  fields: (t) => ({
    messageId: t.id({
      description: 'The id that the message will have once it is stored.',
      resolve: (delta) => encodeId('Message', delta.messageId),
    }),
    stepId: t.id({ description: 'The step.', resolve: (delta) => encodeStepId(delta.runId, delta.stepIndex) }),
    kind: t.expose('kind', { type: DeltaKind, description: 'What kind of message it is.' }),
    offset: t.exposeInt('offset', { description: "Where `text` begins in the message's text." }),
    text: t.exposeString('text', { description: 'What was written.' }),
  }),
})

builder.objectRef<Extract<DomainRunEvent, { readonly type: 'call' }>>('ToolCallDelta').implement({
  extensions: { plain: true },
  description: 'The arguments of a tool call as the model writes them.',
  interfaces: [RunEvent],
  fields: (t) => ({
    stepId: t.id({ description: 'The step.', resolve: (delta) => encodeStepId(delta.runId, delta.stepIndex) }),
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
    argumentsText: t.exposeString('argumentsText', { description: 'What was written.' }),
  }),
})
