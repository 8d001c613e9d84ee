import type { ApiKey as DomainApiKey } from '../domain/access/api-key.ts'
import type { StoredFile } from '../domain/files/file.ts'
import type { McpServer as DomainMcpServer } from '../domain/tools/mcp-server.ts'
import type { MessageOutline, MessageType } from '../domain/conversations/message.ts'
import type { Run as DomainRun } from '../domain/runs/run.ts'
import type { Schedule as DomainSchedule } from '../domain/schedules/schedule.ts'
import type { SleeptimeGroup as DomainSleeptimeGroup } from '../domain/memory/sleeptime-group.ts'
import type { Step as DomainStep } from '../domain/runs/step.ts'
import type { ToolCallOutline } from '../domain/tools/tool-call.ts'
import type { BudgetStanding } from '../domain/usage/budget.ts'
import type { Webhook as DomainWebhook, WebhookDelivery as DomainWebhookDelivery } from '../domain/webhooks/webhook.ts'
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
export const SleeptimeGroup = builder.objectRef<DomainSleeptimeGroup>('SleeptimeGroup')
export const McpServer = builder.objectRef<DomainMcpServer>('McpServer')
export const File = builder.objectRef<StoredFile>('File')
export const Budget = builder.objectRef<BudgetStanding>('Budget')
export const Schedule = builder.objectRef<DomainSchedule>('Schedule')
export const Webhook = builder.objectRef<DomainWebhook>('Webhook')
export const WebhookDelivery = builder.objectRef<DomainWebhookDelivery>('WebhookDelivery')
export const ApiKey = builder.objectRef<DomainApiKey>('ApiKey')

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
