import { approvalsRequired } from '../domain/approvals/call-approvals.ts'
import { currentClaim } from '../domain/approvals/claim.ts'
import type {
  ToolCallClaim as DomainToolCallClaim,
  ToolCallNeed as DomainToolCallNeed,
  ToolCallOutline,
  ToolCallStatus as DomainToolCallStatus,
} from '../domain/tools/tool-call.ts'
import { findClientTool } from '../domain/runs/run-state.ts'
import type { Tool as DomainTool } from '../domain/tools/tool.ts'
import { countToolCalls, listToolCallsPage } from '../store/tools/tool-call-list.ts'
import { Actor } from './actor.ts'
import { Agent } from './agent.ts'
import { builder } from './builder.ts'
import { connectionType, pageArguments, pageComplexity } from './connection.ts'
import type { Context } from './context.ts'
import { Conversation } from './conversation.ts'
import { loadExisting } from './load-existing.ts'
import { encodeId, Node, registerNode, uuidsOfFilter } from './node.ts'
import { Run, Step, ToolCall } from './run-refs.ts'
import { loadStep } from './step.ts'
import {
  ApprovalDecision,
  argumentsOf,
  decisionOf,
  editedArgumentsOf,
  shownApprovals,
  ToolReturn,
} from './tool-call-outcome.ts'
import { Tool } from './tool.ts'

export const ToolCallStatus = builder.enumType('ToolCallStatus', {
  description: 'State of a tool call.',
  values: {
    PENDING: { description: "Waits for a decision or a client's result." },
    READY: { description: 'Cleared to run but not started.' },
    RUNNING: { description: 'In progress.' },
    SUCCEEDED: { description: 'Returned a result.' },
    FAILED: { description: 'Returned an error, or could not be run.' },
    DENIED: { description: 'Was not run, because it was denied or its approval expired.' },
    CANCELLED: { description: 'The run was cancelled before the call had a result.' },
  } satisfies Record<DomainToolCallStatus, { description: string }>,
})

export const ToolCallNeed = builder.enumType('ToolCallNeed', {
  description: 'What a tool call needs before it can have a result.',
  values: {
    NOTHING: { description: 'Nothing. The server runs the call.' },
    APPROVAL: { description: 'Approval. The server runs the call afterwards.' },
    CLIENT_EXECUTION: {
      description: 'A client that runs the call and returns the result. No separate approval is needed.',
    },
  } satisfies Record<DomainToolCallNeed, { description: string }>,
})

const ToolCallClaim = builder.objectRef<DomainToolCallClaim>('ToolCallClaim')
ToolCallClaim.implement({
  description:
    "A client's temporary right to run a client tool call, so that only one of several open clients runs it.",
  fields: (t) => ({
    claimantId: t.exposeString('claimantId', { description: 'Id of the client, as given to `claimToolCall`.' }),
    claimedBy: t.expose('claimedBy', { type: Actor, description: 'Who claimed the call.' }),
    expiresAt: t.field({
      type: 'DateTime',
      description: 'When the claim expires, unless the client extends it.',
      resolve: ({ expiresAt }) => new Date(expiresAt),
    }),
  }),
})

ToolCall.implement({
  description: 'A tool call that the model made.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique and permanent. Tools get it as their idempotency key.',
      resolve: (call) => encodeId('ToolCall', call.id),
    }),
    providerCallId: t.exposeString('providerCallId', {
      description: 'Id that the model gave the call. Not unique: tools get `id` as their idempotency key.',
    }),
    name: t.exposeString('name', { description: 'Name of the tool.' }),
    argumentsText: t.string({
      description: 'Arguments as the model wrote them.',
      resolve: async (call, _args, context) => (await argumentsOf(call, context)).argumentsText,
    }),
    arguments: t.field({
      type: 'JSON',
      nullable: true,
      description:
        "Parsed arguments, including those that a tool rule prefilled. Null if the model's text is not JSON.",
      resolve: async (call, _args, context) => (await argumentsOf(call, context)).arguments,
    }),
    editedArguments: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Arguments that an approver set instead. Null if nobody did.',
      resolve: editedArgumentsOf,
    }),
    status: t.expose('status', { type: ToolCallStatus, description: 'Current state of the call.' }),
    needs: t.expose('needs', {
      type: ToolCallNeed,
      description: 'What the call waits or waited for.',
    }),
    approvalsRequired: t.int({
      description: 'How many different actors must approve the call. 0 if it needs no approval.',
      resolve: approvalsRequired,
    }),
    approvals: t.field({
      type: [ApprovalDecision],
      description: 'Approvals that count so far, oldest first. At most `approvalsRequired`.',
      resolve: shownApprovals,
    }),
    claim: t.field({
      type: ToolCallClaim,
      nullable: true,
      description: 'Current claim by a client that runs the call. Null if there is none or it has expired.',
      resolve: (call, _args, { clock }) => (call.status === 'PENDING' ? currentClaim(call, clock.now()) : null),
    }),
    tool: t.field({
      type: Tool,
      nullable: true,
      description: 'Tool that is called. Null if the tool came with the request, or does not exist.',
      resolve: findTool,
    }),
    agent: t.field({
      type: Agent,
      description: 'Agent that made the call.',
      resolve: async (call, _args, context) => {
        const run = await loadExisting(context.loaders.runs, 'Run', call.runId)
        return loadExisting(context.loaders.agents, 'Agent', run.agentId)
      },
    }),
    conversation: t.field({
      type: Conversation,
      description: 'Conversation in which the call was made.',
      resolve: async (call, _args, context) => {
        const run = await loadExisting(context.loaders.runs, 'Run', call.runId)
        return loadExisting(context.loaders.conversations, 'Conversation', run.conversationId)
      },
    }),
    run: t.field({
      type: Run,
      description: 'Run in which the call was made.',
      resolve: (call, _args, context) => loadExisting(context.loaders.runs, 'Run', call.runId),
    }),
    step: t.field({
      type: Step,
      description: 'Step in which the call was made.',
      resolve: (call, _args, context) => loadStep(context, { runId: call.runId, index: call.stepIndex }),
    }),
    decision: t.field({
      type: ApprovalDecision,
      nullable: true,
      description:
        "Decision that settled the call: a denial, the last required approval, or a client's result. Null until then.",
      resolve: decisionOf,
    }),
    result: t.field({
      type: ToolReturn,
      nullable: true,
      description: 'Result of the call. Null until there is one.',
      resolve: (call) => (call.hasResult ? call : null),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the model made the call.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the call is denied if it is still undecided. Null means never.',
    }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the server started to run the call. Null if it has not.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the call got its result. Null until then.',
    }),
  }),
})

async function findTool(call: ToolCallOutline, _args: object, context: Context): Promise<DomainTool | undefined> {
  const clientTools = await loadExisting(context.loaders.clientToolsOfRun, 'Run', call.runId)
  return findClientTool({ clientTools }, call.name) ? undefined : context.loaders.toolByName.load(call.name)
}

registerNode('ToolCall', { load: (context, id) => context.loaders.toolCalls.load(id.uuid) })

const ToolCallConnection = connectionType('ToolCall', ToolCall)

const ToolCallFilter = builder.inputType('ToolCallFilter', {
  description: 'Which tool calls to list. Omitted fields do not filter; all given fields must match.',
  fields: (t) => ({
    agentIds: t.idList({ description: 'Calls by one of these agents.' }),
    statuses: t.field({ type: [ToolCallStatus], description: 'Calls with one of these statuses.' }),
    needs: t.field({ type: [ToolCallNeed], description: 'Calls that need or needed one of these.' }),
    toolNames: t.stringList({ description: 'Calls of tools with one of these names.' }),
    decidedBy: t.string({ description: 'Calls that the actor with this id decided.' }),
  }),
})

builder.queryField('toolCalls', (t) =>
  t.field({
    type: ToolCallConnection,
    description: 'Tool calls of all agents, oldest first. Filter by status PENDING for everything that waits.',
    args: {
      ...pageArguments,
      filter: t.arg({ type: ToolCallFilter, description: 'Which tool calls to list. Omit it for all.' }),
    },
    complexity: pageComplexity,
    resolve: async (_root, { filter: given, ...page }, { db, viewer }) => {
      const agentIds = given?.agentIds && uuidsOfFilter('Agent', 'filter.agentIds', given.agentIds)
      const filter = { ...given, agentIds }
      return {
        ...(await listToolCallsPage(db, viewer, { filter, page })),
        countAll: () => countToolCalls(db, viewer, filter),
      }
    },
  }),
)
