import { keysOf } from '../util/json.ts'
import { hexOfUuid, uuidOfHex } from '../util/ids.ts'
import type { FilePlace } from './files/file.ts'

/** Prefixes of ids in the API: `run_` and the 32 hex digits of a UUID. Inside the server, ids are plain UUIDs. */
export const idPrefixes = {
  Agent: 'agent',
  AgentTool: 'agenttool',
  ApiKey: 'key',
  AuditEntry: 'audit',
  Block: 'block',
  Budget: 'budget',
  Conversation: 'conv',
  File: 'file',
  McpServer: 'mcp',
  Message: 'msg',
  Passage: 'passage',
  Run: 'run',
  Schedule: 'schedule',
  SleeptimeGroup: 'group',
  Step: 'step',
  Tenant: 'tenant',
  Tool: 'tool',
  ToolCall: 'call',
  Webhook: 'webhook',
  WebhookDelivery: 'delivery',
  Worker: 'worker',
} as const

export type IdKind = keyof typeof idPrefixes

/** The noun for readers: 'agent', 'MCP server' … */
export function nounOf(kind: IdKind): string {
  const noun = kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()
  return noun.replace(/^(api|mcp)\b/, (letters) => letters.toUpperCase())
}

const kindsByPrefix = new Map<string, IdKind>(keysOf(idPrefixes).map((kind) => [idPrefixes[kind], kind]))

/** Kinds whose ids are one UUID. */
export type UuidKind = Exclude<IdKind, 'Step' | 'File'>

export function encodeId(kind: UuidKind, uuid: string): string {
  return `${idPrefixes[kind]}_${hexOfUuid(uuid)}`
}

/** The public ids of a run and of what it belongs to. Every log line about a run has them. */
export function shownRunIds(run: {
  readonly id: string
  readonly conversationId: string
  readonly agentId: string
  readonly tenantId: string
}) {
  return {
    runId: encodeId('Run', run.id),
    conversationId: encodeId('Conversation', run.conversationId),
    agentId: encodeId('Agent', run.agentId),
    tenantId: encodeId('Tenant', run.tenantId),
  }
}

/** A step has no id of its own: its run and its index identify it. */
export function encodeStepId(runId: string, index: number): string {
  return `${idPrefixes.Step}_${hexOfUuid(runId)}_${index}`
}

/** A file has no id of its own: its conversation and its key identify it. */
export function encodeFileId({ conversationId, key }: FilePlace): string {
  return `${idPrefixes.File}_${hexOfUuid(conversationId)}_${hexOfUuid(key)}`
}

export type DecodedId =
  | { readonly kind: UuidKind; readonly uuid: string }
  | { readonly kind: 'Step'; readonly runId: string; readonly index: number }
  | ({ readonly kind: 'File' } & FilePlace)

/** Undefined for anything that this server cannot have issued. */
export function decodeId(id: string): DecodedId | undefined {
  const match = /^([a-z]+)_([0-9a-f]{32})(?:_([0-9a-f]{1,32}))?$/.exec(id)
  if (!match) return undefined
  const [, prefix = '', hex = '', rest] = match
  const kind = kindsByPrefix.get(prefix)
  const uuid = uuidOfHex(hex)
  if (kind === 'File') return rest?.length === 32 ? { kind, conversationId: uuid, key: uuidOfHex(rest) } : undefined
  if (kind === 'Step') {
    return /^(0|[1-9][0-9]{0,8})$/.test(rest ?? '') ? { kind, runId: uuid, index: Number(rest) } : undefined
  }
  return kind && rest === undefined ? { kind, uuid } : undefined
}

/** The UUID in an id of this kind. Undefined for any other text. */
export function uuidOf(kind: UuidKind, id: string): string | undefined {
  const decoded = decodeId(id)
  return decoded?.kind === kind && 'uuid' in decoded ? decoded.uuid : undefined
}
