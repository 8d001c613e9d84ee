import {
  callsOfMessage,
  textOf,
  type MessageOutline,
  type MessageType as DomainMessageType,
} from '../domain/message.ts'
import type { ToolCallOutline } from '../domain/tool-call.ts'
import type { ShownContent } from '../store/messages.ts'
import { builder } from './builder.ts'
import { connectionType } from './connection.ts'
import type { Context } from './context.ts'
import { Conversation } from './conversation.ts'
import { ContentPart } from './given-message.ts'
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
  description: 'Something that was said or done in a conversation.',
  interfaces: [Node],
  resolveType: (message) => typeNames[message.type],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique, and the same for ever.',
      resolve: (message) => encodeId('Message', message.id),
    }),
    conversation: t.field({
      type: Conversation,
      description: 'The conversation it belongs to.',
      resolve: (message, _args, context) =>
        loadExisting(context.loaders.conversations, 'Conversation', message.conversationId),
    }),
    position: t.exposeInt('position', { description: 'Its place in the conversation.' }),
    run: t.field({
      type: Run,
      nullable: true,
      description: 'The run that added it.',
      resolve: (message, _args, context) => context.loaders.runs.load(message.runId),
    }),
    step: t.field({
      type: Step,
      nullable: true,
      description: "The step that it came of. Null for input and for what is no step's.",
      resolve: (message, _args, context) =>
        message.stepIndex === null
          ? null
          : context.loaders.steps.load({ runId: message.runId, index: message.stepIndex }),
    }),
    clientId: t.exposeString('clientId', {
      nullable: true,
      description: 'The id the client gave, unchanged. Null where it gave none.',
    }),
    inContext: t.boolean({
      description:
        'Whether `Conversation.context` shows the message. False if compaction replaced it, if a failed run left it unanswered, and while a call of its step has no return.',
      resolve: isInContext,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was stored.' }),
  }),
})

async function isInContext(message: MessageOutline, _args: object, context: Context): Promise<boolean> {
  // A return that is excluded is still sent, because its call is, but without its output.
  if (message.excluded && message.type !== 'TOOL_RETURN') return false
  const head = await loadExisting(context.loaders.conversationHeads, 'Conversation', message.conversationId)
  if (message.type === 'SUMMARY') return message.position === head.summaryPosition
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
  // What is stored under a type was written as that type's content.
  return (await loadExisting(context.loaders.contentOfMessage, 'Message', message.id)) as ShownContent<Type>
}

async function callsOf(message: MessageOutline, context: Context): Promise<readonly ToolCallOutline[]> {
  if (message.stepIndex === null) return []
  const calls = await context.loaders.callsOfStep.load({ runId: message.runId, index: message.stepIndex })
  return callsOfMessage(message.type, calls)
}

// Node first: of two interfaces that have a field, the later one's resolver counts.
const interfaces = [Node, Message]

messageRef('SYSTEM').implement({
  description: 'Something the model was told by the system that uses it, not by its user.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Its text parts, joined by line breaks.',
      resolve: async (message, _args, context) => textOf((await contentOf(message, context)).content),
    }),
  }),
})

messageRef('USER').implement({
  description: 'Something the user said.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'Its text parts, joined by line breaks.',
      resolve: async (message, _args, context) => textOf((await contentOf(message, context)).content),
    }),
    content: t.field({
      type: [ContentPart],
      description: 'All its parts, in order.',
      resolve: async (message, _args, context) => [...(await contentOf(message, context)).content],
    }),
  }),
})

messageRef('REASONING').implement({
  description: 'What the model thought before it answered.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'The reasoning. Empty if it is redacted.',
      resolve: async (message, _args, context) => (await contentOf(message, context)).text,
    }),
    redacted: t.boolean({
      description: 'The provider returned it encrypted or redacted: `text` is empty.',
      resolve: async (message, _args, context) => (await contentOf(message, context)).redacted,
    }),
  }),
})

messageRef('ASSISTANT').implement({
  description: 'Something the model said.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'The text that the model wrote.',
      resolve: async (message, _args, context) => (await contentOf(message, context)).text,
    }),
    interrupted: t.boolean({
      description: 'A cancel cut it short: this is exactly what had been streamed.',
      resolve: async (message, _args, context) => (await contentOf(message, context)).interrupted,
    }),
  }),
})

messageRef('TOOL_CALL').implement({
  description: 'Calls the server makes by itself.',
  interfaces,
  fields: (t) => ({
    toolCalls: t.field({
      type: [ToolCall],
      description: 'The calls, in the order in which the model made them.',
      resolve: async (message, _args, context) => [...(await callsOf(message, context))],
    }),
  }),
})

messageRef('APPROVAL_REQUEST').implement({
  description: 'Calls that wait for a person (approval) or for the client (client tools).',
  interfaces,
  fields: (t) => ({
    toolCalls: t.field({
      type: [ToolCall],
      description: 'The calls, in the order in which the model made them.',
      resolve: async (message, _args, context) => [...(await callsOf(message, context))],
    }),
  }),
})

messageRef('APPROVAL_RESPONSE').implement({
  description: 'What was decided about the calls of an ApprovalRequestMessage.',
  interfaces,
  fields: (t) => ({
    decisions: t.field({
      type: [ApprovalDecision],
      description: 'The decisions, in the order of the calls.',
      resolve: async (message, _args, context) => decisionsOf(await callsOf(message, context)),
    }),
  }),
})

messageRef('TOOL_RETURN').implement({
  description: 'All the returns of one step, in the order of its calls.',
  interfaces,
  fields: (t) => ({
    toolReturns: t.field({
      type: [ToolReturn],
      description: 'The returns, in the order of the calls.',
      resolve: async (message, _args, context) => (await callsOf(message, context)).filter((call) => call.hasResult),
    }),
  }),
})

messageRef('SUMMARY').implement({
  description: 'What compaction put in place of older messages.',
  interfaces,
  fields: (t) => ({
    text: t.string({
      description: 'The summary.',
      resolve: async (message, _args, context) => (await contentOf(message, context)).text,
    }),
  }),
})

registerNode('Message', {
  load: (context, id) => context.loaders.messages.load(id.uuid),
  typeName: (message: MessageOutline) => typeNames[message.type],
})

export const MessageConnection = connectionType('Message', Message)

const MessageType = builder.enumType('MessageType', {
  description: 'The kinds of messages.',
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
  description: 'Which messages a list shows. What is left out filters nothing.',
  fields: (t) => ({ types: t.field({ type: [MessageType], description: 'Only messages of these kinds.' }) }),
})
