import { isJsonObject, parseJson, sameJson, type Json, type JsonObject } from '../../util/json.ts'
import { encodeId, type UuidKind } from '../ids.ts'
import type { Actor } from './actor.ts'

/** One recorded change. */
export interface AuditEntry {
  readonly id: string
  readonly tenantId: string
  readonly at: Date
  /** Null for the server itself and for the command line. */
  readonly actor: Actor | null
  /** Name of the mutation. */
  readonly action: string
  /** The subject's public id, so that it can be read after the subject is gone. */
  readonly subjectId: string
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

export interface SettingsChange {
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

/** Properties of stored objects that are not settings, that are secret, or that the entry has elsewhere. */
const notSettings: ReadonlySet<string> = new Set([
  ...['id', 'tenantId', 'createdAt', 'createdBy', 'updatedAt', 'lastUsedAt', 'lastError', 'version', 'isAvailable'],
  ...['nextDue', 'watched', 'turns', 'secret', 'oldSecret'],
])

/** Settings that are ids of other objects. An entry has the ids that clients know. */
const kindsOfIds: Readonly<Record<string, UuidKind>> = {
  agentId: 'Agent',
  agentIds: 'Agent',
  allowedAgentIds: 'Agent',
  sleeptimeAgentIds: 'Agent',
  conversationId: 'Conversation',
  allowedConversationIds: 'Conversation',
  blockIds: 'Block',
  mcpServerId: 'McpServer',
  passages: 'Passage',
}

/**
 * The settings that differ between two states of an object, where null means that the object does not exist. Undefined
 * if nothing changed. Header values are secrets, so only the names are kept.
 */
export function settingsChange(before: object | null, after: object | null): SettingsChange | undefined {
  const one = before && settingsOf(before)
  const other = after && settingsOf(after)
  if (!one || !other) return { before: one && withoutSecrets(one), after: other && withoutSecrets(other) }
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter(
    (name) => !sameJson(one[name], other[name]),
  )
  if (names.length === 0) return undefined
  const differing = (settings: JsonObject) =>
    withoutSecrets(Object.fromEntries(Object.entries(settings).filter(([name]) => names.includes(name))))
  return { before: differing(one), after: differing(other) }
}

function settingsOf(object: object): JsonObject {
  const plain = parseJson(JSON.stringify(object))
  const settings = Object.entries(isJsonObject(plain) ? plain : {}).filter(([name]) => !notSettings.has(name))
  return Object.fromEntries(settings.map(([name, value]) => [name, withPublicIds(kindsOfIds[name], value)]))
}

function withPublicIds(kind: UuidKind | undefined, value: Json): Json {
  if (Array.isArray(value)) return kind ? value.map((id) => withPublicIds(kind, id)) : value
  return kind && typeof value === 'string' ? encodeId(kind, value) : value
}

function withoutSecrets({ headers, ...settings }: JsonObject): JsonObject {
  return isJsonObject(headers) ? { ...settings, headerNames: Object.keys(headers) } : settings
}
