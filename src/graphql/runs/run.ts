import { waitsOf } from '../../domain/approvals/approval.ts'
import { parseOutput } from '../../domain/runs/response-schema.ts'
import { retryObstacle } from '../../domain/runs/retry-obstacle.ts'
import { shownStatus, waitsForBudget, waitsForCalls } from '../../domain/runs/run.ts'
import { listMessagesPage } from '../../store/conversations/messages.ts'
import { Actor } from '../access/actor.ts'
import { Agent } from '../agents/agent.ts'
import { filterBy, pageOf } from '../connection.ts'
import { Conversation } from '../conversations/conversation.ts'
import { GivenMessage } from '../conversations/given-message.ts'
import { MessageConnection, MessageFilter } from '../conversations/message.ts'
import { lastCursorOf } from '../cursor.ts'
import { implement, int, json, of, string, time } from '../fields.ts'
import { linkOrNull, linkTo, loaded, loadExisting } from '../load-existing.ts'
import { Node } from '../node.ts'
import { Run, Step, ToolCall } from '../refs.ts'
import { RunError, RunStatus, RunWait, StopReason, Usage } from './run-outcome.ts'

implement(Run, {
  description:
    'One turn of a conversation, from its input to the answer. It keeps its id through pauses, restarts and retries.',
  interfaces: [Node],
  fields: (t) => ({
    agent: linkTo(Agent, 'agentId', 'Agent that the run belongs to.'),
    conversation: linkTo(Conversation, 'conversationId', 'Conversation that the run belongs to.'),
    status: t.field({ type: RunStatus, description: 'Current state of the run.', resolve: shownStatus }),
    waitingFor: t.field({
      ...of([RunWait])('What the run waits for, while `status` is AWAITING_APPROVAL. Empty otherwise.'),
      resolve: async (run, _args, context) =>
        waitsForBudget(run)
          ? ['BUDGET' as const]
          : waitsForCalls(run)
            ? waitsOf(await context.loaders.pendingCallsOfRun.load(run.id))
            : [],
    }),
    stopReason: of(StopReason).orNull('Why the run last paused or ended. Null before that.'),
    error: of(RunError).orNull('Why the run failed. Null unless `status` is FAILED.'),
    usage: t.field({
      ...of(Usage)('Model usage of the whole run so far.'),
      resolve: (run) => ({ ...run.usage, steps: run.steps }),
    }),
    steps: loaded('stepsOfRun', of([Step])('Steps, in order.')),
    input: t.field({
      ...of([GivenMessage])('Messages that the run was given, even if it never started.'),
      resolve: async ({ id, conversationId }, _args, context) => {
        const messages = await loadExisting(context.loaders.inputOfRun, 'Run', id)
        return messages.map((message) => ({ ...message, conversationId }))
      },
    }),
    messages: t.field({
      ...pageOf(
        MessageConnection,
        'Messages that the run added, oldest first, whether or not it is on the current branch.',
        filterBy(MessageFilter, 'messages'),
      ),
      resolve: (run, { filter, ...page }, { db, viewer }) => {
        const list = { conversationId: run.conversationId, of: run, types: filter?.types }
        return listMessagesPage(db, viewer, list, page)
      },
    }),
    pendingToolCalls: t.field({
      ...of([ToolCall])('Tool calls that the run waits for. Empty if it does not wait.'),
      resolve: async (run, _args, context) =>
        run.status === 'AWAITING_APPROVAL' ? context.loaders.pendingCallsOfRun.load(run.id) : [],
    }),
    lastCursor: t.field({
      type: 'EventCursor',
      description:
        'Cursor of the last stored event, for `runEvents`. It has the same guarantees as `Conversation.lastCursor`.',
      resolve: lastCursorOf,
    }),
    maxSteps: int('Maximum number of steps.'),
    attempts: int('How many times a worker took the run. More than 1 after a pause, crash, restart or retry.'),
    parent: linkOrNull(
      Run,
      'parentId',
      'Run whose turn this background run processes. Null if this is not a background run.',
    ),
    children: loaded(
      'childrenOfRun',
      of([Run])(
        "Background runs that this run's turn started. At most 10: one for each background agent of the agent.",
      ),
    ),
    answer: loaded('answerOfRun', string.orNull('Text of the last assistant message. Null if there is none.')),
    output: t.field({
      ...json.orNull('Final answer as JSON. Null if no response schema applies or the answer does not satisfy it.'),
      resolve: async (run, _args, context) =>
        run.hasOutput ? (parseOutput((await context.loaders.answerOfRun.load(run.id)) ?? '') ?? null) : null,
    }),
    canRetry: t.boolean({
      description: 'Whether `retryRun` would accept the run.',
      resolve: async (run, _args, context) =>
        run.status === 'FAILED' &&
        !retryObstacle(run, await loadExisting(context.loaders.conversationHeads, 'Conversation', run.conversationId)),
    }),
    sentBy: of(Actor).orNull('Who started the run. Null for background runs.'),
    cancelledBy: of(Actor).orNull(
      'Who cancelled the run, by `cancelRun` or by a message sent with INTERRUPT. Null if nobody did.',
    ),
    metadata: t.field({
      ...json("JSON object for the client's own use. Empty by default."),
      resolve: (run, _args, context) => loadExisting(context.loaders.metadataOfRun, 'Run', run.id),
    }),
    createdAt: time('When the run was accepted.'),
    updatedAt: time('When the run last changed.'),
    startedAt: time.orNull('When a worker first took the run. Null until then.'),
    finishedAt: time.orNull('When the run ended. Null until then.'),
  }),
})
