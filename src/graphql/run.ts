import { waitsOf } from '../domain/approval.ts'
import { canRetry } from '../domain/retry.ts'
import { shownStatus, type Run as DomainRun } from '../domain/run.ts'
import { listMessagesPage } from '../store/messages.ts'
import { Actor } from './actor.ts'
import { Agent } from './agent.ts'
import { pageArguments, pageComplexity } from './connection.ts'
import { Conversation } from './conversation.ts'
import { lastCursorOf } from './cursor.ts'
import { GivenMessage } from './given-message.ts'
import { loadExisting } from './load-existing.ts'
import { MessageConnection, MessageFilter } from './message.ts'
import { encodeId, Node, registerNode } from './node.ts'
import { RunError, RunStatus, RunWait, StopReason, Usage } from './run-outcome.ts'
import { Run, Step, ToolCall } from './run-refs.ts'

Run.implement({
  description: 'One piece of work: from a message to the answer, through steps, pauses and resumptions.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'Globally unique, and the same for ever.', resolve: (run) => encodeId('Run', run.id) }),
    agent: t.field({
      type: Agent,
      description: 'The agent that does the work.',
      resolve: (run, _args, context) => loadExisting(context.loaders.agents, 'Agent', run.agentId),
    }),
    conversation: t.field({
      type: Conversation,
      description: 'The conversation that it belongs to.',
      resolve: (run, _args, context) => loadExisting(context.loaders.conversations, 'Conversation', run.conversationId),
    }),
    status: t.field({ type: RunStatus, description: 'Where it stands.', resolve: shownStatus }),
    waitingFor: t.field({
      type: [RunWait],
      description: 'What the run waits for, while `status` is AWAITING_APPROVAL. Empty otherwise.',
      resolve: async (run, _args, context) =>
        run.status === 'AWAITING_APPROVAL' ? waitsOf(await context.loaders.pendingCallsOfRun.load(run.id)) : [],
    }),
    stopReason: t.expose('stopReason', {
      type: StopReason,
      nullable: true,
      description: 'Null until the run first pauses or ends.',
    }),
    error: t.expose('error', {
      type: RunError,
      nullable: true,
      description: 'What it failed of. Null where it did not.',
    }),
    usage: t.field({
      type: Usage,
      description: 'What all its steps used of models.',
      resolve: (run) => ({ ...run.usage, steps: run.steps }),
    }),
    steps: t.field({
      type: [Step],
      description: 'Its steps, in order.',
      resolve: async (run, _args, context) => [...(await context.loaders.stepsOfRun.load(run.id))],
    }),
    input: t.field({
      type: [GivenMessage],
      description: 'The messages it was given, as they were given: kept also where the run never started.',
      resolve: async (run, _args, context) => [...(await loadExisting(context.loaders.inputOfRun, 'Run', run.id))],
    }),
    messages: t.field({
      type: MessageConnection,
      description: 'The messages this run added, oldest first.',
      args: { ...pageArguments, filter: t.arg({ type: MessageFilter, description: 'Which messages to list.' }) },
      complexity: pageComplexity,
      resolve: (run, { filter, ...page }, { db, viewer }) => {
        const range = { from: run.firstPosition, before: run.nextPosition }
        return listMessagesPage(
          db,
          viewer.tenantId,
          { conversationId: run.conversationId, range, types: filter?.types },
          page,
        )
      },
    }),
    pendingToolCalls: t.field({
      type: [ToolCall],
      description: 'The tool calls this run waits for, while it waits.',
      resolve: async (run, _args, context) =>
        run.status === 'AWAITING_APPROVAL' ? [...(await context.loaders.pendingCallsOfRun.load(run.id))] : [],
    }),
    lastCursor: t.field({
      type: 'EventCursor',
      description:
        "The last stored entry of the run's stream: never inside a message, never newer than the fields beside it. `runEvents` after it leaves no gap; text that is being written is sent from its first character.",
      resolve: lastCursorOf,
    }),
    maxSteps: t.exposeInt('maxSteps', { description: 'The most steps it may take.' }),
    attempts: t.exposeInt('attempts', {
      description: 'How often a worker took the run up: above 1 after a crash, restart or retry.',
    }),
    parent: t.field({
      type: Run,
      nullable: true,
      description: 'The run whose turn this one processes in the background (sleeptime).',
      resolve: (run, _args, context) => (run.parentId === null ? null : context.loaders.runs.load(run.parentId)),
    }),
    children: t.field({
      type: [Run],
      description: "Background runs this run's turn started.",
      resolve: async (run, _args, context) => [...(await context.loaders.childrenOfRun.load(run.id))],
    }),
    answer: t.string({
      nullable: true,
      description: 'The text of its last assistant message. Null where it has none.',
      resolve: (run, _args, context) => context.loaders.answerOfRun.load(run.id),
    }),
    canRetry: t.boolean({
      description: 'Whether `retryRun` would take it.',
      resolve: async (run, _args, context) =>
        run.status === 'FAILED' &&
        canRetry(run, await loadExisting(context.loaders.conversationHeads, 'Conversation', run.conversationId)),
    }),
    sentBy: t.expose('sentBy', {
      type: Actor,
      nullable: true,
      description: 'Who started the run. Null for background runs.',
    }),
    metadata: t.field({
      type: 'JSON',
      description: 'The JSON object that the client sent with the run. Empty if it sent none.',
      resolve: (run, _args, context) => loadExisting(context.loaders.metadataOfRun, 'Run', run.id),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was accepted.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When anything of it last changed.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a worker first took it up. Null until then.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended. Null until then.',
    }),
  }),
})

registerNode('Run', { load: (context, id): Promise<DomainRun | undefined> => context.loaders.runs.load(id.uuid) })
