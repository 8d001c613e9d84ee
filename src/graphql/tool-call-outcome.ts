import type {
  ApprovalScope as DomainApprovalScope,
  Decision,
  ToolCall as DomainToolCall,
  ToolResult,
} from '../domain/tool-call.ts'
import { builder } from './builder.ts'
import { encodeId } from './node.ts'

export const ToolReturnStatus = builder.enumType('ToolReturnStatus', {
  description: 'Whether a tool did what it was asked to.',
  values: {
    SUCCESS: { description: 'It did.' },
    ERROR: { description: 'It did not, and its output says why.' },
  } as const,
})

export const ApprovalScope = builder.enumType('ApprovalScope', {
  description: 'How far an approval reaches.',
  values: {
    ONCE: { description: 'This call.' },
    RUN: { description: 'This and later calls of the same tool in this run.' },
    AGENT: {
      description: 'This and every later call of the tool by this agent, until `setToolApproval` says otherwise.',
    },
  } satisfies Record<DomainApprovalScope, { description: string }>,
})

const ApprovalDecisionKind = builder.enumType('ApprovalDecisionKind', {
  description: 'What was decided about a tool call.',
  values: {
    APPROVED: { description: 'The server may run it.' },
    DENIED: { description: 'It must not be run.' },
    CLIENT_RETURN: { description: 'The client ran it and sent what it returned.' },
  } satisfies Record<Decision['kind'], { description: string }>,
})

type DecidedCall = DomainToolCall & { readonly decision: Decision; readonly decidedAt: Date }

export function isDecided(call: DomainToolCall): call is DecidedCall {
  return call.decision !== null && call.decidedAt !== null
}

export const ApprovalDecision = builder.objectRef<DecidedCall>('ApprovalDecision')
ApprovalDecision.implement({
  description: 'What was decided about a tool call, by whom and when.',
  fields: (t) => ({
    toolCallId: t.id({ description: 'The call.', resolve: (call) => encodeId('ToolCall', call.id) }),
    kind: t.field({
      type: ApprovalDecisionKind,
      description: 'What was decided.',
      resolve: (call) => call.decision.kind,
    }),
    reason: t.string({
      nullable: true,
      description: 'DENIED: the reason that the model reads. Null where none was given.',
      resolve: (call) => call.decision.reason,
    }),
    scope: t.field({
      type: ApprovalScope,
      nullable: true,
      description: 'APPROVED: how far the approval reaches.',
      resolve: (call) => call.decision.scope,
    }),
    editedArguments: t.field({
      type: 'JSON',
      nullable: true,
      description: 'APPROVED: what the arguments were changed to. Null where they were not.',
      resolve: (call) => call.editedArguments,
    }),
    toolReturn: t.string({
      nullable: true,
      description: 'CLIENT_RETURN: the output that the client sent.',
      resolve: (call) => clientResult(call)?.output,
    }),
    status: t.field({
      type: ToolReturnStatus,
      nullable: true,
      description: 'CLIENT_RETURN: whether the tool did what it was asked to.',
      resolve: (call) => clientResult(call)?.status,
    }),
    decidedBy: t.exposeString('decidedBy', {
      nullable: true,
      description: 'The API key or user that decided. Null where nobody did and the time ran out.',
    }),
    decidedAt: t.expose('decidedAt', { type: 'DateTime', description: 'When it was decided.' }),
  }),
})

function clientResult(call: DecidedCall): ToolResult | null {
  return call.decision.kind === 'CLIENT_RETURN' ? call.result : null
}

type ReturnedCall = DomainToolCall & { readonly result: ToolResult }

export function isReturned(call: DomainToolCall): call is ReturnedCall {
  return call.result !== null
}

export const ToolReturn = builder.objectRef<ReturnedCall>('ToolReturn')
ToolReturn.implement({
  description: 'What a tool call came to, as the model is told.',
  fields: (t) => ({
    toolCallId: t.id({ description: 'The call.', resolve: (call) => encodeId('ToolCall', call.id) }),
    providerCallId: t.exposeString('providerCallId', { description: 'The id the model gave the call.' }),
    name: t.exposeString('name', { description: 'The name of the tool.' }),
    status: t.field({
      type: ToolReturnStatus,
      description: 'Whether the tool did what it was asked to.',
      resolve: (call) => call.result.status,
    }),
    output: t.string({ description: 'What it returned, or what went wrong.', resolve: (call) => call.result.output }),
    stdout: t.stringList({
      description: 'What it wrote to its standard output, line by line.',
      resolve: (call) => [...call.result.stdout],
    }),
    stderr: t.stringList({
      description: 'What it wrote to its standard error, line by line.',
      resolve: (call) => [...call.result.stderr],
    }),
    truncated: t.boolean({
      description: "Whether the output was longer than the tool's limit and was cut.",
      resolve: (call) => call.result.truncated,
    }),
    durationMs: t.float({
      nullable: true,
      description: 'How long it ran. Null where the server did not run it.',
      resolve: (call) => call.result.durationMs,
    }),
  }),
})
