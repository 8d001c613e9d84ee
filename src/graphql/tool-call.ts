import { approvalsRequired } from '../domain/call-approvals.ts'
import { currentClaim } from '../domain/claim.ts'
import type {
  ToolCallClaim as DomainToolCallClaim,
  ToolCallNeed as DomainToolCallNeed,
  ToolCallOutline,
  ToolCallStatus as DomainToolCallStatus,
} from '../domain/tool-call.ts'
import { findClientTool } from '../domain/run-state.ts'
import type { Tool as DomainTool } from '../domain/tool.ts'
import { countToolCalls, listToolCallsPage } from '../store/tool-call-list.ts'
import { Actor } from './actor.ts'
import { Agent } from './agent.ts'
import { builder } from './builder.ts'
import { countedConnectionType, pageArguments, pageComplexity } from './connection.ts'
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
  description: 'Where a tool call stands.',
  values: {
    PENDING: { description: "Waits for a decision or a client's result." },
    READY: { description: 'Cleared to run; not started.' },
    RUNNING: { description: 'Being run.' },
    SUCCEEDED: { description: 'Ran, and returned a result.' },
    FAILED: { description: 'Ran, or could not be run, and returned an error.' },
    DENIED: { description: 'Was not run: someone denied it, or nobody decided in time.' },
    CANCELLED: { description: 'Its run was cancelled before it had a result.' },
  } satisfies Record<DomainToolCallStatus, { description: string }>,
})

export const ToolCallNeed = builder.enumType('ToolCallNeed', {
  description: 'What a tool call needs before it can have a result.',
  values: {
    NOTHING: { description: 'The server runs it by itself.' },
    APPROVAL: { description: 'Someone must approve it.' },
    CLIENT_EXECUTION: { description: 'A client must run it and send what it returned.' },
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
  description: 'A tool that the model wants to be run, with its arguments.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique. Tools get it as their idempotency key.',
      resolve: (call) => encodeId('ToolCall', call.id),
    }),
    providerCallId: t.exposeString('providerCallId', { description: 'The id the model gave the call.' }),
    name: t.exposeString('name', { description: 'The name of the tool.' }),
    argumentsText: t.string({
      description: 'The arguments as the model wrote them.',
      resolve: async (call, _args, context) => (await argumentsOf(call, context)).argumentsText,
    }),
    arguments: t.field({
      type: 'JSON',
      nullable: true,
      description:
        "The arguments that the tool gets unless a person edits them, prefilled ones included. Null if the model's text is not JSON.",
      resolve: async (call, _args, context) => (await argumentsOf(call, context)).arguments,
    }),
    editedArguments: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The arguments as a person edited them on approval. Null if nobody did.',
      resolve: editedArgumentsOf,
    }),
    status: t.expose('status', { type: ToolCallStatus, description: 'Where it stands.' }),
    needs: t.expose('needs', {
      type: ToolCallNeed,
      description: 'What it waits or waited for. A client tool waits for its execution alone: whoever runs it decides.',
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
      description: 'The tool of that name. Null where the run brought its own, and where there is none (any more).',
      resolve: findTool,
    }),
    agent: t.field({
      type: Agent,
      description: 'The agent that wants it to be run.',
      resolve: async (call, _args, context) => {
        const run = await loadExisting(context.loaders.runs, 'Run', call.runId)
        return loadExisting(context.loaders.agents, 'Agent', run.agentId)
      },
    }),
    conversation: t.field({
      type: Conversation,
      description: 'The conversation in which it was made.',
      resolve: async (call, _args, context) => {
        const run = await loadExisting(context.loaders.runs, 'Run', call.runId)
        return loadExisting(context.loaders.conversations, 'Conversation', run.conversationId)
      },
    }),
    run: t.field({
      type: Run,
      description: 'The run in which it was made.',
      resolve: (call, _args, context) => loadExisting(context.loaders.runs, 'Run', call.runId),
    }),
    step: t.field({
      type: Step,
      description: 'The step in which it was made.',
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
      description: 'What it came to. Null until it has a result.',
      resolve: (call) => (call.hasResult ? call : null),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the model made it.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it will be denied if nobody decides. Null: never.',
    }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the server began to run it. Null where it did not.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it had its result. Null until then.',
    }),
  }),
})

async function findTool(call: ToolCallOutline, _args: object, context: Context): Promise<DomainTool | undefined> {
  const clientTools = await loadExisting(context.loaders.clientToolsOfRun, 'Run', call.runId)
  return findClientTool({ clientTools }, call.name) ? undefined : context.loaders.toolByName.load(call.name)
}

registerNode('ToolCall', { load: (context, id) => context.loaders.toolCalls.load(id.uuid) })

const ToolCallConnection = countedConnectionType('ToolCall', ToolCall)

const ToolCallFilter = builder.inputType('ToolCallFilter', {
  description: 'Which tool calls a list shows. What is left out filters nothing.',
  fields: (t) => ({
    agentIds: t.idList({ description: 'Only calls of these agents.' }),
    statuses: t.field({ type: [ToolCallStatus], description: 'Only calls that stand like this now.' }),
    needs: t.field({ type: [ToolCallNeed], description: 'Only calls that need or needed this.' }),
    toolNames: t.stringList({ description: 'Only calls of tools with these names.' }),
    decidedBy: t.string({ description: 'Calls that the actor with this id decided.' }),
  }),
})

builder.queryField('toolCalls', (t) =>
  t.field({
    type: ToolCallConnection,
    description: 'With `statuses: [PENDING]`, everything that waits for someone, oldest first.',
    args: { ...pageArguments, filter: t.arg({ type: ToolCallFilter, description: 'Which calls to list.' }) },
    complexity: pageComplexity,
    resolve: async (_root, { filter: given, ...page }, { db, viewer }) => {
      const agentIds = given?.agentIds && uuidsOfFilter('Agent', 'filter.agentIds', given.agentIds)
      const filter = { ...given, agentIds }
      return {
        ...(await listToolCallsPage(db, viewer.tenantId, { filter, page })),
        countAll: () => countToolCalls(db, viewer.tenantId, filter),
      }
    },
  }),
)
