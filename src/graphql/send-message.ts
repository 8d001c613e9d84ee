import { sendMessage } from '../commands/send-message.ts'
import { badUserInput } from '../domain/errors.ts'
import { checkedNumber, checkedObject } from '../domain/input.ts'
import { waitForRun } from '../live/wait-for-run.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { NewMessageInput } from './given-message.ts'
import { requireUuid } from './node.ts'
import { checkedClientTools, checkedMessages, checkedToken, checkedWait } from '../domain/run-input.ts'
import { admissionResult, ConversationBusyRefusal, PendingApprovalRefusal, runSuccessType } from './run-results.ts'
import { WhenBusy } from './when-busy.ts'

const SendMessageTarget = builder.inputType('SendMessageTarget', {
  description: 'Whom to send to. An agent means its main conversation.',
  isOneOf: true,
  fields: (t) => ({
    agentId: t.id({ description: 'An agent: the message goes to its main conversation.' }),
    conversationId: t.id({ description: 'A conversation.' }),
  }),
})

const ClientToolInput = builder.inputType('ClientToolInput', {
  description: 'A tool that the client runs, for one run.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 64 of a–z, A–Z, 0–9, _ and -. It hides a tool of that name.' }),
    description: t.string({ description: 'What it is for, as the model reads it.' }),
    parameters: t.field({ type: 'JSON', description: 'JSON Schema of the arguments; none unless given.' }),
  }),
})

const SendMessageInput = builder.inputType('SendMessageInput', {
  description: 'Messages to an agent, and what to make of them.',
  fields: (t) => ({
    to: t.field({ type: SendMessageTarget, required: true, description: 'Whom to send to.' }),
    messages: t.field({
      type: [NewMessageInput],
      required: true,
      description: 'The messages, in order: at least 1, at most 100.',
    }),
    clientTools: t.field({ type: [ClientToolInput], description: 'Tools for this run only. The client runs them.' }),
    maxSteps: t.int({ description: 'The most steps the run may take: from 1 to 1000, 50 unless given.' }),
    maxTotalTokens: t.int({
      description: 'The run stops with BUDGET_EXCEEDED before the step that would start past it.',
    }),
    whenBusy: t.field({
      type: WhenBusy,
      required: true,
      defaultValue: 'REJECT',
      description: 'What to do where the conversation has an active run.',
    }),
    waitMs: t.int({
      required: true,
      defaultValue: 0,
      description: 'Answer once the run pauses or ends, or this long is over (at most 5 minutes). 0: at once.',
    }),
    idempotencyKey: t.string({
      description: 'The same key within 24 hours gives the same run back. 1 to 200 characters.',
    }),
    metadata: t.field({ type: 'JSON', description: 'A JSON object to attach to the run, 64 KB at the most.' }),
  }),
})

const SendMessageSuccess = runSuccessType('SendMessageSuccess', {
  description: 'The messages were accepted: they survive from here on.',
  run: 'The run that answers them.',
})

const SendMessageResult = builder.unionType('SendMessageResult', {
  description: 'What `sendMessage` came to.',
  types: [SendMessageSuccess, PendingApprovalRefusal, ConversationBusyRefusal],
  resolveType: (result) => result.type,
})

builder.mutationField('sendMessage', (t) =>
  t.field({
    type: SendMessageResult,
    nullable: true,
    description: 'Starts a run with messages.',
    args: { input: t.arg({ type: SendMessageInput, required: true, description: 'What to send, and to whom.' }) },
    resolve: async (_root, { input }, context) => {
      const waitMs = checkedWait('input.waitMs', input.waitMs)
      const result = await send(context, input)
      if (result.type === 'SendMessageSuccess') await waitForRun(context, result.runId, { waitMs })
      return result
    },
  }),
)

async function send(context: Context, input: typeof SendMessageInput.$inferInput) {
  return admissionResult(await sendMessage(context, context.viewer, toCommand(input)), 'SendMessageSuccess')
}

function toCommand(input: typeof SendMessageInput.$inferInput): Parameters<typeof sendMessage>[2] {
  const { to, messages, clientTools, maxSteps, maxTotalTokens, whenBusy, idempotencyKey, metadata } = input
  if (messages.length === 0) throw badUserInput('input.messages', 'It is empty. It takes one message or more.')
  return {
    to: to.agentId
      ? { agentId: requireUuid('Agent', to.agentId) }
      : { conversationId: requireUuid('Conversation', to.conversationId ?? '') },
    messages: checkedMessages('input.messages', messages),
    clientTools: checkedClientTools('input.clientTools', clientTools ?? []),
    maxSteps: optionalNumber('input.maxSteps', maxSteps, { from: 1, to: 1000 }),
    maxTotalTokens: optionalNumber('input.maxTotalTokens', maxTotalTokens, { from: 1, to: 2 ** 31 - 1 }),
    whenBusy: whenBusy ?? 'REJECT',
    idempotencyKey: checkedToken('input.idempotencyKey', idempotencyKey),
    metadata: checkedObject('input.metadata', metadata ?? {}),
  }
}

function optionalNumber(field: string, value: number | null | undefined, range: { from: number; to: number }) {
  return typeof value === 'number' ? checkedNumber(field, value, range) : null
}
