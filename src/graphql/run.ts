import { waitsOf } from '../domain/approvals/approval.ts'
import { parseOutput } from '../domain/runs/response-schema.ts'
import { retryObstacle } from '../domain/runs/retry-obstacle.ts'
import { shownStatus, type Run as DomainRun } from '../domain/run.ts'
import { Actor } from './actor.ts'
import { Agent } from './agent.ts'
import { pageArguments, pageComplexity } from './connection.ts'
import { Conversation } from './conversation.ts'
import { lastCursorOf } from './cursor.ts'
import { GivenMessage } from './conversations/given-message.ts'
import { loadExisting } from './load-existing.ts'
import { MessageConnection, MessageFilter, messagesPage } from './message.ts'
import { encodeId, Node, registerNode } from './node.ts'
import { RunError, RunStatus, RunWait, StopReason, Usage } from './run-outcome.ts'
import { Run, Step, ToolCall } from './run-refs.ts'

Run.implement({
  description:
    'One turn of a conversation, from its input to the answer. It keeps its id through pauses, restarts and retries.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'Globally unique and permanent.', resolve: (run) => encodeId('Run', run.id) }),
    agent: t.field({
      type: Agent,
      description: 'Agent that the run belongs to.',
      resolve: (run, _args, context) => loadExisting(context.loaders.agents, 'Agent', run.agentId),
    }),
    conversation: t.field({
      type: Conversation,
      description: 'Conversation that the run belongs to.',
      resolve: (run, _args, context) => loadExisting(context.loaders.conversations, 'Conversation', run.conversationId),
    }),
    status: t.field({ type: RunStatus, description: 'Current state of the run.', resolve: shownStatus }),
    waitingFor: t.field({
      type: [RunWait],
      description: 'What the run waits for, while `status` is AWAITING_APPROVAL. Empty otherwise.',
      resolve: async (run, _args, context) =>
        run.status === 'AWAITING_APPROVAL' ? waitsOf(await context.loaders.pendingCallsOfRun.load(run.id)) : [],
    }),
    stopReason: t.expose('stopReason', {
      type: StopReason,
      nullable: true,
      description: 'Why the run last paused or ended. Null before that.',
    }),
    error: t.expose('error', {
      type: RunError,
      nullable: true,
      description: 'Why the run failed. Null unless `status` is FAILED.',
    }),
    usage: t.field({
      type: Usage,
      description: 'Model usage of the whole run so far.',
      resolve: (run) => ({ ...run.usage, steps: run.steps }),
    }),
    steps: t.field({
      type: [Step],
      description: 'Steps, in order.',
      resolve: async (run, _args, context) => [...(await context.loaders.stepsOfRun.load(run.id))],
    }),
    input: t.field({
      type: [GivenMessage],
      description: 'Messages that the run was given, even if it never started.',
      resolve: async ({ id, conversationId }, _args, context) => {
        const messages = await loadExisting(context.loaders.inputOfRun, 'Run', id)
        return messages.map((message) => ({ ...message, conversationId }))
      },
    }),
    messages: t.field({
      type: MessageConnection,
      description: 'Messages that the run added, oldest first, whether or not it is on the current branch.',
      args: {
        ...pageArguments,
        filter: t.arg({ type: MessageFilter, description: 'Which messages to list. Omit it for all.' }),
      },
      complexity: pageComplexity,
      resolve: (run, { filter, ...page }, context) =>
        messagesPage(context, { conversationId: run.conversationId, run, types: filter?.types }, page),
    }),
    pendingToolCalls: t.field({
      type: [ToolCall],
      description: 'Tool calls that the run waits for. Empty if it does not wait.',
      resolve: async (run, _args, context) =>
        run.status === 'AWAITING_APPROVAL' ? [...(await context.loaders.pendingCallsOfRun.load(run.id))] : [],
    }),
    lastCursor: t.field({
      type: 'EventCursor',
      description:
        'Cursor of the last stored event, for `runEvents`. It has the same guarantees as `Conversation.lastCursor`.',
      resolve: lastCursorOf,
    }),
    maxSteps: t.exposeInt('maxSteps', { description: 'Maximum number of steps.' }),
    attempts: t.exposeInt('attempts', {
      description: 'How many times a worker took the run. More than 1 after a crash, restart or retry.',
    }),
    parent: t.field({
      type: Run,
      nullable: true,
      description: 'Run whose turn this background run processes. Null if this is not a background run.',
      resolve: (run, _args, context) => (run.parentId === null ? null : context.loaders.runs.load(run.parentId)),
    }),
    children: t.field({
      type: [Run],
      description:
        "Background runs that this run's turn started. At most 10: one for each background agent of the agent.",
      resolve: async (run, _args, context) => [...(await context.loaders.childrenOfRun.load(run.id))],
    }),
    answer: t.string({
      nullable: true,
      description: 'Text of the last assistant message. Null if there is none.',
      resolve: (run, _args, context) => context.loaders.answerOfRun.load(run.id),
    }),
    output: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Final answer as JSON. Null if no response schema applies or the answer does not satisfy it.',
      resolve: async (run, _args, context) =>
        run.hasOutput ? (parseOutput((await context.loaders.answerOfRun.load(run.id)) ?? '') ?? null) : null,
    }),
    canRetry: t.boolean({
      description: 'Whether `retryRun` would accept the run.',
      resolve: async (run, _args, context) =>
        run.status === 'FAILED' &&
        !retryObstacle(run, await loadExisting(context.loaders.conversationHeads, 'Conversation', run.conversationId)),
    }),
    sentBy: t.expose('sentBy', {
      type: Actor,
      nullable: true,
      description: 'Who started the run. Null for background runs.',
    }),
    cancelledBy: t.expose('cancelledBy', {
      type: Actor,
      nullable: true,
      description: 'Who cancelled the run, by `cancelRun` or by a message sent with INTERRUPT. Null if nobody did.',
    }),
    metadata: t.field({
      type: 'JSON',
      description: "JSON object for the client's own use. Empty by default.",
      resolve: (run, _args, context) => loadExisting(context.loaders.metadataOfRun, 'Run', run.id),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the run was accepted.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the run last changed.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a worker first took the run. Null until then.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the run ended. Null until then.',
    }),
  }),
})

registerNode('Run', { load: (context, id): Promise<DomainRun | undefined> => context.loaders.runs.load(id.uuid) })
