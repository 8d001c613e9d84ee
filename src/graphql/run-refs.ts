import type { ApiKey as DomainApiKey } from '../domain/api-key.ts'
import type { McpServer as DomainMcpServer } from '../domain/mcp-server.ts'
import type { Message as DomainMessage } from '../domain/message.ts'
import type { Run as DomainRun } from '../domain/run.ts'
import type { SleeptimeGroup as DomainSleeptimeGroup } from '../domain/sleeptime-group.ts'
import type { Step as DomainStep } from '../domain/step.ts'
import type { ToolCall as DomainToolCall } from '../domain/tool-call.ts'
import { builder } from './builder.ts'

/**
 * Runs, steps, messages and tool calls lead to each other both ways. Their modules meet here, so that none has to
 * import one that imports it; what each of them is like is told in its own module.
 */
export const Run = builder.objectRef<DomainRun>('Run')
export const Step = builder.objectRef<DomainStep>('Step')
export const Message = builder.interfaceRef<DomainMessage>('Message')
export const ToolCall = builder.objectRef<DomainToolCall>('ToolCall')
export const SleeptimeGroup = builder.objectRef<DomainSleeptimeGroup>('SleeptimeGroup')
export const McpServer = builder.objectRef<DomainMcpServer>('McpServer')
export const ApiKey = builder.objectRef<DomainApiKey>('ApiKey')
