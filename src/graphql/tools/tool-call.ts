import { approvalsRequired } from '../../domain/approvals/call-approvals.ts'
import { currentClaim } from '../../domain/approvals/claim.ts'
import { findClientTool } from '../../domain/runs/run-state.ts'
import type {
  ToolCallClaim as DomainToolCallClaim,
  ToolCallNeed as DomainToolCallNeed,
  ToolCallOutline,
  ToolCallProgress as DomainToolCallProgress,
  ToolCallStatus as DomainToolCallStatus,
} from '../../domain/tools/tool-call.ts'
import type { Tool as DomainTool } from '../../domain/tools/tool.ts'
import { listToolCallsPage } from '../../store/tools/tool-call-list.ts'
import { Actor } from '../access/actor.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { connectionType, filterBy, pageOf } from '../connection.ts'
import type { Context } from '../context.ts'
import { Conversation } from '../conversations/conversation.ts'
import { describedEnum } from '../described-enum.ts'
import { float, given, id, idOf, ids, implement, json, of, string, strings, time } from '../fields.ts'
import { linkTo, loadExisting } from '../load-existing.ts'
import { givenUuid, Node, uuidsOfFilter } from '../node.ts'
import { Run, Step, ToolCall } from '../refs.ts'
import { loadStep } from '../runs/step.ts'
import {
  ApprovalDecision,
  argumentsOf,
  decisionOf,
  editedArgumentsOf,
  shownApprovals,
  ToolReturn,
} from './tool-call-outcome.ts'
import { Tool } from './tool.ts'

export const ToolCallStatus = describedEnum<DomainToolCallStatus>('ToolCallStatus', 'State of a tool call.', {
  PENDING: "Waits for a decision or a client's result.",
  READY: 'Cleared to run but not started.',
  RUNNING: 'In progress.',
  SUCCEEDED: 'Returned a result.',
  FAILED: 'Returned an error, or could not be run.',
  DENIED: 'Was not run, because it was denied or its approval expired.',
  CANCELLED: 'The run was cancelled before the call had a result.',
})

export const ToolCallNeed = describedEnum<DomainToolCallNeed>(
  'ToolCallNeed',
  'What a tool call needs before it can have a result.',
  {
    NOTHING: 'Nothing. The server runs the call.',
    APPROVAL: 'Approval. The server runs the call afterwards.',
    CLIENT_EXECUTION: 'A client that runs the call and returns the result. No separate approval is needed.',
  },
)

const ToolCallClaim = builder.objectRef<DomainToolCallClaim>('ToolCallClaim')
implement(ToolCallClaim, {
  description:
    "A client's temporary right to run a client tool call, so that only one of several open clients runs it.",
  fields: (t) => ({
    claimantId: string('Id of the client, as given to `claimToolCall`.'),
    claimedBy: of(Actor)('Who claimed the call.'),
    expiresAt: t.field({
      ...time('When the claim expires, unless the client extends it.'),
      resolve: ({ expiresAt }) => new Date(expiresAt),
    }),
  }),
})

export const ToolCallProgress = builder.objectRef<DomainToolCallProgress>('ToolCallProgress')
implement(ToolCallProgress, {
  description: 'How far a running call is, as its tool last reported it.',
  fields: () => ({
    progress: float('How much is done. It increases with every report.'),
    total: float.orNull('What `progress` will be at the end. Null if that is unknown.'),
    message: string.orNull(
      'What the call is doing, for people, at most 500 characters. Null if the tool does not say.',
    ),
  }),
})

implement(ToolCall, {
  description: 'A tool call that the model made.',
  interfaces: [Node],
  fields: (t) => ({
    id: idOf('ToolCall', 'id', 'Globally unique and permanent. Tools get it as their idempotency key.'),
    providerCallId: string('Id that the model gave the call. Not unique: tools get `id` as their idempotency key.'),
    name: string('Name of the tool.'),
    argumentsText: t.string({
      description: 'Arguments as the model wrote them.',
      resolve: async (call, _args, context) => (await argumentsOf(call, context)).argumentsText,
    }),
    arguments: t.field({
      ...json.orNull(
        "Parsed arguments, including those that a tool rule prefilled. Null if the model's text is not JSON.",
      ),
      resolve: async (call, _args, context) => (await argumentsOf(call, context)).arguments,
    }),
    editedArguments: t.field({
      ...json.orNull('Arguments that an approver set instead. Null if nobody did.'),
      resolve: editedArgumentsOf,
    }),
    status: of(ToolCallStatus)('Current state of the call.'),
    needs: of(ToolCallNeed)('What the call waits or waited for.'),
    approvalsRequired: t.int({
      description: 'How many different actors must approve the call. 0 if it needs no approval.',
      resolve: approvalsRequired,
    }),
    approvals: t.field({
      ...of([ApprovalDecision])('Approvals that count so far, oldest first. At most `approvalsRequired`.'),
      resolve: shownApprovals,
    }),
    claim: t.field({
      ...of(ToolCallClaim).orNull(
        'Current claim by a client that runs the call. Null if there is none or it has expired.',
      ),
      resolve: (call, _args, { clock }) => (call.status === 'PENDING' ? currentClaim(call, clock.now()) : null),
    }),
    tool: t.field({
      ...of(Tool).orNull('Tool that is called. Null if the tool came with the request, or does not exist.'),
      resolve: findTool,
    }),
    agent: t.field({
      ...of(Agent)('Agent that made the call.'),
      resolve: async (call, _args, context) => {
        const run = await loadExisting(context.loaders.runs, 'Run', call.runId)
        return loadExisting(context.loaders.agents, 'Agent', run.agentId)
      },
    }),
    conversation: t.field({
      ...of(Conversation)('Conversation in which the call was made.'),
      resolve: async (call, _args, context) => {
        const run = await loadExisting(context.loaders.runs, 'Run', call.runId)
        return loadExisting(context.loaders.conversations, 'Conversation', run.conversationId)
      },
    }),
    run: linkTo(Run, 'runId', 'Run in which the call was made.'),
    step: t.field({
      ...of(Step)('Step in which the call was made.'),
      resolve: (call, _args, context) => loadStep(context, { runId: call.runId, index: call.stepIndex }),
    }),
    decision: t.field({
      ...of(ApprovalDecision).orNull(
        "Decision that settled the call: a denial, the last required approval, or a client's result. Null until then.",
      ),
      resolve: decisionOf,
    }),
    result: t.field({
      ...of(ToolReturn).orNull('Result of the call. Null until there is one.'),
      resolve: (call) => (call.hasResult ? call : null),
    }),
    progress: t.field({
      type: ToolCallProgress,
      nullable: true,
      description:
        'What the running call last reported, as tools of MCP servers do. Live only: null if it reported nothing or has ended.',
      resolve: (call, _args, { hub }) =>
        call.status === 'RUNNING' ? hub.progressOf(call.runId)?.get(call.id) : undefined,
    }),
    createdAt: time('When the model made the call.'),
    expiresAt: time.orNull('When the call is denied if it is still undecided. Null means never.'),
    startedAt: time.orNull('When the server started to run the call. Null if it has not.'),
    finishedAt: time.orNull('When the call got its result. Null until then.'),
  }),
})

async function findTool(call: ToolCallOutline, _args: object, context: Context): Promise<DomainTool | undefined> {
  const clientTools = await loadExisting(context.loaders.clientToolsOfRun, 'Run', call.runId)
  return findClientTool({ clientTools }, call.name) ? undefined : context.loaders.toolByName.load(call.name)
}

const ToolCallFilter = builder.inputType('ToolCallFilter', {
  description: 'Which tool calls to list. Omitted fields do not filter; all given fields must match.',
  fields: given({
    agentIds: ids('Calls by one of these agents.'),
    runId: id('Calls of this run.'),
    conversationId: id('Calls of this conversation.'),
    statuses: of([ToolCallStatus])('Calls with one of these statuses.'),
    needs: of([ToolCallNeed])('Calls that need or needed one of these.'),
    toolNames: strings('Calls of tools with one of these names.'),
    decidedBy: string('Calls that the actor with this id decided.'),
    createdAfter: time('Calls made after this time.'),
    createdBefore: time('Calls made before this time.'),
  }),
})

builder.queryField('toolCalls', (t) =>
  t.field({
    ...pageOf(
      connectionType('ToolCall', ToolCall),
      'Tool calls of all agents, oldest first. Filter by status PENDING for everything that waits.',
      filterBy(ToolCallFilter, 'tool calls'),
    ),
    resolve: (_root, { filter, ...page }, { db, viewer }) => {
      const { agentIds, runId, conversationId, ...rest } = filter ?? {}
      const stored = {
        ...rest,
        agentIds: agentIds && uuidsOfFilter('Agent', 'filter.agentIds', agentIds),
        runIds: givenUuid('Run', 'filter.runId', runId),
        conversationIds: givenUuid('Conversation', 'filter.conversationId', conversationId),
      }
      return listToolCallsPage(db, viewer, { filter: stored, page })
    },
  }),
)
