import { keyedInput } from '../../commands/idempotency.ts'
import { sendMessage } from '../../commands/runs/send-message.ts'
import { ownerOf } from '../../domain/access/viewer.ts'
import { badUserInput } from '../../domain/errors.ts'
import { checkedNumber, checkedObject, checkedResponseSchema } from '../../domain/input.ts'
import { checkedClientTools, checkedMessages, checkedWait, clientToolDefaults } from '../../domain/runs/run-input.ts'
import { runDefaults } from '../../domain/runs/run.ts'
import { judged } from '../../util/json-schema.ts'
import { builder } from '../builder.ts'
import { NewMessageInput } from '../conversations/given-message.ts'
import { given, id, int, json, objectType, of, string } from '../fields.ts'
import { idempotencyKeyField, mutation, outcomes } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { admissionResult, heldOutcomes, runOfOutcome, waitMsField, whenBusyField } from './run-results.ts'

const SendMessageTarget = builder.inputType('SendMessageTarget', {
  description: 'Where a message goes.',
  isOneOf: true,
  fields: given({
    agentId: id('Id of an agent: the message goes to its main conversation.'),
    conversationId: id('Id of a conversation.'),
  }),
})

const ClientToolInput = builder.inputType('ClientToolInput', {
  description: 'A tool that the client runs.',
  fields: given({
    name: string.required('Name by which the model calls the tool: 1 to 64 characters of a–z, A–Z, 0–9, _ and -.'),
    description: string('Tells the model what the tool does, at most 10,000 characters. Empty by default.'),
    parameters: json('JSON Schema of the arguments, with type object, at most 64 KB. Defaults to no arguments.'),
  }),
})

const SendMessageInput = builder.inputType('SendMessageInput', {
  description: 'Messages to send, and settings of the run that answers them.',
  fields: given({
    to: of(SendMessageTarget).required('Where the messages go.'),
    messages: of([NewMessageInput]).required('Messages, in order: 1 to 100.'),
    clientTools: of([ClientToolInput])(
      'Tools that the client runs, for this run only. At most 128, with 512 KB of parameters together. They hide tools of the agent with the same name.',
    ),
    maxSteps: int('Maximum number of steps. Defaults to 50, at most 1,000.'),
    maxTotalTokens: int('Token budget: no step starts once the run has used this many tokens. Defaults to no budget.'),
    responseSchema: json(
      "JSON Schema that the final answer must satisfy, at most 64 KB. Omit for the agent's own; null means free text.",
    ),
    whenBusy: whenBusyField,
    waitMs: waitMsField,
    idempotencyKey: idempotencyKeyField,
    metadata: json("JSON object for the client's own use, stored on the run, at most 64 KB. Empty by default."),
  }),
})

mutation('sendMessage', {
  description: 'Starts a run that answers the given messages, at the end of the current branch.',
  input: SendMessageInput,
  result: outcomes({
    accepted: objectType('SendMessageSuccess', {
      description: 'The messages are stored and will be processed, whatever happens to the server.',
      fields: { run: runOfOutcome('Run that processes the messages.') },
    }),
    ...heldOutcomes,
  }),
  async resolve(input, context) {
    const waitMs = checkedWait('input.waitMs', input.waitMs)
    const command = await judged(ownerOf(context.viewer), () => toCommand(input))
    const result = await sendMessage(context, context.viewer, {
      ...command,
      keyed: keyedInput(context.viewer, 'sendMessage', withDefaults(input)),
    })
    return admissionResult(context, result, { waitMs })
  },
})

/** Fills in the defaults that the schema only describes. */
function withDefaults(input: typeof SendMessageInput.$inferInput) {
  const clientTools = input.clientTools === undefined ? [] : input.clientTools
  return {
    maxSteps: runDefaults.maxSteps,
    metadata: {},
    ...input,
    clientTools: clientTools?.map((tool) => ({ ...clientToolDefaults, ...tool })) ?? null,
  }
}

function toCommand(input: typeof SendMessageInput.$inferInput): Parameters<typeof sendMessage>[2] {
  const { to, messages, clientTools, maxSteps, maxTotalTokens, responseSchema, whenBusy, metadata } = input
  if (messages.length === 0) throw badUserInput('input.messages', 'It is empty. Expected at least one message.')
  return {
    to:
      typeof to.agentId === 'string'
        ? { agentId: requireUuid('Agent', to.agentId) }
        : { conversationId: requireUuid('Conversation', to.conversationId ?? '') },
    ...checkedMessages('input.messages', messages),
    clientTools: checkedClientTools('input.clientTools', clientTools ?? []),
    maxSteps: optionalNumber('input.maxSteps', maxSteps, { from: 1, to: 1000 }),
    maxTotalTokens: optionalNumber('input.maxTotalTokens', maxTotalTokens, { from: 1, to: 2 ** 31 - 1 }),
    ...(responseSchema !== undefined && {
      responseSchema: checkedResponseSchema('input.responseSchema', responseSchema),
    }),
    whenBusy: whenBusy ?? 'REJECT',
    metadata: checkedObject('input.metadata', metadata ?? {}),
  }
}

function optionalNumber(field: string, value: number | null | undefined, range: { from: number; to: number }) {
  return typeof value === 'number' ? checkedNumber(field, value, range) : null
}
