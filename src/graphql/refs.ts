import type { MessageOutline, MessageType } from '../domain/conversations/message.ts'
import type { StoredFile } from '../domain/files/file.ts'
import type { Run as DomainRun } from '../domain/runs/run.ts'
import type { Step as DomainStep } from '../domain/runs/step.ts'
import type { ToolCallOutline } from '../domain/tools/tool-call.ts'
import { builder } from './builder.ts'

/**
 * Runs, steps, messages and tool calls refer to each other. Their refs are here so that the modules don't import each
 * other in a circle; each module describes its own type. Runs, messages and tool calls are without their large parts,
 * which fields get from a loader.
 */
export const Run = builder.objectRef<DomainRun>('Run')
export const Step = builder.objectRef<DomainStep>('Step')
export const Message = builder.interfaceRef<MessageOutline>('Message')
export const ToolCall = builder.objectRef<ToolCallOutline>('ToolCall')
export const File = builder.objectRef<StoredFile>('File')

/** The type of each kind of message. */
export const messageTypes = {
  SYSTEM: 'SystemMessage',
  USER: 'UserMessage',
  REASONING: 'ReasoningMessage',
  ASSISTANT: 'AssistantMessage',
  TOOL_CALL: 'ToolCallMessage',
  TOOL_RETURN: 'ToolReturnMessage',
  APPROVAL_REQUEST: 'ApprovalRequestMessage',
  APPROVAL_RESPONSE: 'ApprovalResponseMessage',
  SUMMARY: 'SummaryMessage',
} as const satisfies Record<MessageType, string>
