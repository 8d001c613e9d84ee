import { textOf } from '../../domain/conversations/content.ts'
import {
  callsOfMessage,
  type MessageOutline,
  type MessageType as DomainMessageType,
} from '../../domain/conversations/message.ts'
import type { ToolCallOutline } from '../../domain/tools/tool-call.ts'
import { isHoldOnBranch } from '../../store/conversations/branches.ts'
import type { ShownContent } from '../../store/conversations/messages.ts'
import { Actor } from '../access/actor.ts'
import { builder } from '../builder.ts'
import { connectionType } from '../connection.ts'
import type { Context } from '../context.ts'
import { describedEnum, sentencesOf } from '../described-enum.ts'
import { given, idOf, implement, int, of, string, time } from '../fields.ts'
import { linkOrNull, linkTo, loadExisting } from '../load-existing.ts'
import { Node } from '../node.ts'
import { Message, messageTypes, Run, Step, ToolCall } from '../refs.ts'
import { ApprovalDecision, decisionsOf, ToolReturn } from '../tools/tool-call-outcome.ts'
import { ContentPart, shownParts } from './content-part.ts'
import { Conversation } from './conversation.ts'

implement(Message, {
  description: 'An entry of a conversation.',
  interfaces: [Node],
  resolveType: (message) => messageTypes[message.type],
  fields: (t) => ({
    id: idOf('Message', 'id', 'Globally unique and permanent.'),
    conversation: linkTo(Conversation, 'conversationId', 'Conversation that the message belongs to.'),
    position: int(
      'Position in the conversation, starting at 1 and never reused. Positions increase along a branch and skip those of messages on other branches.',
    ),
    run: linkOrNull(Run, 'runId', 'Run that added the message. Null if the run is no longer stored.'),
    step: t.field({
      ...of(Step).orNull('Step that produced the message. Null for input and other messages that belong to no step.'),
      resolve: (message, _args, context) =>
        message.stepIndex === null
          ? null
          : context.loaders.steps.load({ runId: message.runId, index: message.stepIndex }),
    }),
    clientId: string.orNull('Id that the client gave the message. Null if it gave none.'),
    inContext: t.boolean({
      description:
        'Whether the model sees the message, as in `Conversation.context`. False on other branches, for messages that a summary replaced, for input that a failed run left unanswered, and for all messages of a step while one of its calls has no return.',
      resolve: isInContext,
    }),
    createdAt: time('When the message was stored.'),
  }),
})

async function isInContext(message: MessageOutline, _args: object, context: Context): Promise<boolean> {
  // An excluded return is still sent, because its call is, but without its output.
  if (message.excluded && message.type !== 'TOOL_RETURN') return false
  const head = await loadExisting(context.loaders.conversationHeads, 'Conversation', message.conversationId)
  if (message.type === 'SUMMARY') return message.position === head.summaryPosition
  if (head.offBranch !== '{}') {
    const run = await context.loaders.runs.load(message.runId)
    if (!isHoldOnBranch(head.offBranch, run?.hold ?? null)) return false
  }
  const { openStep } = head
  if (openStep && message.runId === openStep.runId && message.stepIndex === openStep.index) return false
  return message.position >= head.contextFrom
}

interface MessageOf<Type extends DomainMessageType> extends MessageOutline {
  readonly type: Type
}

function messageRef<Type extends DomainMessageType>(type: Type) {
  return builder.objectRef<MessageOf<Type>>(messageTypes[type])
}

/** Resolves a field from the content of its message. */
function ofContent<Type extends DomainMessageType, Value>(read: (content: ShownContent<Type>) => Value) {
  return async (message: MessageOf<Type>, _args: object, context: Context) => read(await contentOf(message, context))
}

async function contentOf<Type extends DomainMessageType>(
  message: MessageOf<Type>,
  context: Context,
): Promise<ShownContent<Type>> {
  // The content of a stored message always has the shape of its type.
  return (await loadExisting(context.loaders.contentOfMessage, 'Message', message.id)) as ShownContent<Type>
}

async function callsOf(message: MessageOutline, context: Context): Promise<readonly ToolCallOutline[]> {
  if (message.stepIndex === null) return []
  const calls = await context.loaders.callsOfStep.load({ runId: message.runId, index: message.stepIndex })
  return callsOfMessage(message.type, calls)
}

// Node comes first: if two interfaces have the same field, the resolver of the later one is used.
const interfaces = [Node, Message]

implement(messageRef('SYSTEM'), {
  description: 'A message from the application that uses the agent, not from its user.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Text of the message.',
      resolve: ofContent(({ content }) => textOf(content)),
    }),
  }),
})

implement(messageRef('USER'), {
  description: 'A message from the user.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Text parts of the message, joined by line breaks. Empty if there are none.',
      resolve: ofContent(({ content }) => textOf(content)),
    }),
    content: t.field({
      ...of([ContentPart])('All parts of the message, in order.'),
      resolve: async (message, _args, context) =>
        shownParts((await contentOf(message, context)).content, message.conversationId),
    }),
    sentBy: t.field({
      ...of(Actor).orNull('Who sent the message. Null if the server wrote it, for a background run.'),
      resolve: async (message, _args, context) => {
        const [content, run] = await Promise.all([
          contentOf(message, context),
          loadExisting(context.loaders.runs, 'Run', message.runId),
        ])
        return content.sentBy ?? run.sentBy
      },
    }),
  }),
})

implement(messageRef('REASONING'), {
  description: 'Reasoning of the model before its answer.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Text of the reasoning. Empty if `redacted` is true.',
      resolve: ofContent(({ text }) => text),
    }),
    redacted: t.boolean({
      description: 'Whether the provider returned the reasoning encrypted or redacted.',
      resolve: ofContent(({ redacted }) => redacted),
    }),
  }),
})

implement(messageRef('ASSISTANT'), {
  description: 'An answer of the model.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Text of the answer.',
      resolve: ofContent(({ text }) => text),
    }),
    interrupted: t.boolean({
      description: 'Whether a cancel cut the answer short. `text` is then exactly what had been streamed.',
      resolve: ofContent(({ interrupted }) => interrupted),
    }),
  }),
})

for (const [type, description] of [
  ['TOOL_CALL', 'Tool calls that need neither approval nor a client.'],
  ['APPROVAL_REQUEST', "Tool calls that wait for approval or for a client's result."],
] as const) {
  implement(messageRef(type), {
    description,
    interfaces,
    fields: (t) => ({
      toolCalls: t.field({
        ...of([ToolCall])('Calls, in the order in which the model made them.'),
        resolve: (message, _args, context) => callsOf(message, context),
      }),
    }),
  })
}

implement(messageRef('APPROVAL_RESPONSE'), {
  description: 'The decisions about the calls of an ApprovalRequestMessage.',
  interfaces,
  fields: (t) => ({
    decisions: t.field({
      ...of([ApprovalDecision])('One decision for each call, in the order of the calls.'),
      resolve: async (message, _args, context) => decisionsOf(await callsOf(message, context)),
    }),
  }),
})

implement(messageRef('TOOL_RETURN'), {
  description: 'The results of all tool calls of one step.',
  interfaces,
  fields: (t) => ({
    toolReturns: t.field({
      ...of([ToolReturn])('Results, in the order of the calls.'),
      resolve: async (message, _args, context) => (await callsOf(message, context)).filter((call) => call.hasResult),
    }),
  }),
})

implement(messageRef('SUMMARY'), {
  description: 'A summary that replaced older messages in the context. It applies to the branches that contain it.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Text of the summary.',
      resolve: ofContent(({ text }) => text),
    }),
  }),
})

export const MessageConnection = connectionType('Message', Message)

export const MessageType = describedEnum('MessageType', 'Type of a message.', sentencesOf(messageTypes))

export const MessageFilter = builder.inputType('MessageFilter', {
  description: 'Which messages to list. Omitted fields do not filter.',
  fields: given({ types: of([MessageType])('Messages of one of these types.') }),
})
