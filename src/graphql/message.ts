import { textOf } from '../domain/conversations/content.ts'
import { callsOfMessage, type MessageOutline, type MessageType as DomainMessageType } from '../domain/conversations/message.ts'
import type { ToolCallOutline } from '../domain/tools/tool-call.ts'
import { isHoldOnBranch } from '../store/conversations/branches.ts'
import { countMessages, listMessagesPage, type MessageList, type ShownContent } from '../store/conversations/messages.ts'
import type { PageArguments } from '../store/database/page.ts'
import { Actor } from './actor.ts'
import { builder } from './builder.ts'
import { connectionType, type CountedPage } from './connection.ts'
import type { Context } from './context.ts'
import { Conversation } from './conversation.ts'
import { ContentPart, shownParts } from './conversations/content-part.ts'
import { loadExisting } from './load-existing.ts'
import { encodeId, Node, registerNode } from './node.ts'
import { Message, Run, Step, ToolCall } from './run-refs.ts'
import { ApprovalDecision, decisionsOf, ToolReturn } from './tool-call-outcome.ts'

const typeNames = {
  SYSTEM: 'SystemMessage',
  USER: 'UserMessage',
  REASONING: 'ReasoningMessage',
  ASSISTANT: 'AssistantMessage',
  TOOL_CALL: 'ToolCallMessage',
  TOOL_RETURN: 'ToolReturnMessage',
  APPROVAL_REQUEST: 'ApprovalRequestMessage',
  APPROVAL_RESPONSE: 'ApprovalResponseMessage',
  SUMMARY: 'SummaryMessage',
} as const satisfies Record<DomainMessageType, string>

Message.implement({
  description: 'An entry of a conversation.',
  interfaces: [Node],
  resolveType: (message) => typeNames[message.type],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique and permanent.',
      resolve: (message) => encodeId('Message', message.id),
    }),
    conversation: t.field({
      type: Conversation,
      description: 'Conversation that the message belongs to.',
      resolve: (message, _args, context) =>
        loadExisting(context.loaders.conversations, 'Conversation', message.conversationId),
    }),
    position: t.exposeInt('position', {
      description:
        'Position in the conversation, starting at 1 and never reused. Positions increase along a branch and skip those of messages on other branches.',
    }),
    run: t.field({
      type: Run,
      nullable: true,
      description: 'Run that added the message. Null if the run is no longer stored.',
      resolve: (message, _args, context) => context.loaders.runs.load(message.runId),
    }),
    step: t.field({
      type: Step,
      nullable: true,
      description: 'Step that produced the message. Null for input and other messages that belong to no step.',
      resolve: (message, _args, context) =>
        message.stepIndex === null
          ? null
          : context.loaders.steps.load({ runId: message.runId, index: message.stepIndex }),
    }),
    clientId: t.exposeString('clientId', {
      nullable: true,
      description: 'Id that the client gave the message. Null if it gave none.',
    }),
    inContext: t.boolean({
      description:
        'Whether the model sees the message, as in `Conversation.context`. False on other branches, for messages that a summary replaced, for input that a failed run left unanswered, and for all messages of a step while one of its calls has no return.',
      resolve: isInContext,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the message was stored.' }),
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
  return builder.objectRef<MessageOf<Type>>(typeNames[type])
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

messageRef('SYSTEM').implement({
  description: 'A message from the application that uses the agent, not from its user.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Text of the message.',
      resolve: async (message, _args, context) => textOf((await contentOf(message, context)).content),
    }),
  }),
})

messageRef('USER').implement({
  description: 'A message from the user.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Text parts of the message, joined by line breaks. Empty if there are none.',
      resolve: async (message, _args, context) => textOf((await contentOf(message, context)).content),
    }),
    content: t.field({
      type: [ContentPart],
      description: 'All parts of the message, in order.',
      resolve: async (message, _args, context) =>
        shownParts((await contentOf(message, context)).content, message.conversationId),
    }),
    sentBy: t.field({
      type: Actor,
      nullable: true,
      description: 'Who sent the message. Null if the server wrote it, for a background run.',
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

messageRef('REASONING').implement({
  description: 'Reasoning of the model before its answer.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Text of the reasoning. Empty if `redacted` is true.',
      resolve: async (message, _args, context) => (await contentOf(message, context)).text,
    }),
    redacted: t.boolean({
      description: 'Whether the provider returned the reasoning encrypted or redacted.',
      resolve: async (message, _args, context) => (await contentOf(message, context)).redacted,
    }),
  }),
})

messageRef('ASSISTANT').implement({
  description: 'An answer of the model.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Text of the answer.',
      resolve: async (message, _args, context) => (await contentOf(message, context)).text,
    }),
    interrupted: t.boolean({
      description: 'Whether a cancel cut the answer short. `text` is then exactly what had been streamed.',
      resolve: async (message, _args, context) => (await contentOf(message, context)).interrupted,
    }),
  }),
})

messageRef('TOOL_CALL').implement({
  description: 'Tool calls that need neither approval nor a client.',
  interfaces,
  fields: (t) => ({
    toolCalls: t.field({
      type: [ToolCall],
      description: 'Calls, in the order in which the model made them.',
      resolve: async (message, _args, context) => [...(await callsOf(message, context))],
    }),
  }),
})

messageRef('APPROVAL_REQUEST').implement({
  description: "Tool calls that wait for approval or for a client's result.",
  interfaces,
  fields: (t) => ({
    toolCalls: t.field({
      type: [ToolCall],
      description: 'Calls, in the order in which the model made them.',
      resolve: async (message, _args, context) => [...(await callsOf(message, context))],
    }),
  }),
})

messageRef('APPROVAL_RESPONSE').implement({
  description: 'The decisions about the calls of an ApprovalRequestMessage.',
  interfaces,
  fields: (t) => ({
    decisions: t.field({
      type: [ApprovalDecision],
      description: 'One decision for each call, in the order of the calls.',
      resolve: async (message, _args, context) => decisionsOf(await callsOf(message, context)),
    }),
  }),
})

messageRef('TOOL_RETURN').implement({
  description: 'The results of all tool calls of one step.',
  interfaces,
  fields: (t) => ({
    toolReturns: t.field({
      type: [ToolReturn],
      description: 'Results, in the order of the calls.',
      resolve: async (message, _args, context) => (await callsOf(message, context)).filter((call) => call.hasResult),
    }),
  }),
})

messageRef('SUMMARY').implement({
  description: 'A summary that replaced older messages in the context. It applies to the branches that contain it.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Text of the summary.',
      resolve: async (message, _args, context) => (await contentOf(message, context)).text,
    }),
  }),
})

registerNode('Message', {
  load: (context, id) => context.loaders.messages.load(id.uuid),
  typeName: (message: MessageOutline) => typeNames[message.type],
})

export const MessageConnection = connectionType('Message', Message)

export async function messagesPage(
  { db, viewer }: Context,
  list: MessageList,
  page: PageArguments,
): Promise<CountedPage<MessageOutline>> {
  return {
    ...(await listMessagesPage(db, viewer, list, page)),
    countAll: () => countMessages(db, viewer, list),
  }
}

export const MessageType = builder.enumType('MessageType', {
  description: 'Type of a message.',
  values: {
    SYSTEM: { description: 'SystemMessage.' },
    USER: { description: 'UserMessage.' },
    REASONING: { description: 'ReasoningMessage.' },
    ASSISTANT: { description: 'AssistantMessage.' },
    TOOL_CALL: { description: 'ToolCallMessage.' },
    TOOL_RETURN: { description: 'ToolReturnMessage.' },
    APPROVAL_REQUEST: { description: 'ApprovalRequestMessage.' },
    APPROVAL_RESPONSE: { description: 'ApprovalResponseMessage.' },
    SUMMARY: { description: 'SummaryMessage.' },
  } satisfies Record<DomainMessageType, { description: string }>,
})

export const MessageFilter = builder.inputType('MessageFilter', {
  description: 'Which messages to list. Omitted fields do not filter.',
  fields: (t) => ({ types: t.field({ type: [MessageType], description: 'Messages of one of these types.' }) }),
})
