import { isJsonObject, sameJson, type JsonObject } from '../../util/json.ts'
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

/** Properties of stored objects that are not settings, or that the entry has elsewhere. */
const notSettings: ReadonlySet<string> = new Set([
  'id',
  'tenantId',
  'createdAt',
  'createdBy',
  'updatedAt',
  'lastUsedAt',
  'lastError',
  'version',
  'isAvailable',
])

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
  return { before: withoutSecrets(pick(one, names)), after: withoutSecrets(pick(other, names)) }
}

function settingsOf(object: object): JsonObject {
  const plain = JSON.parse(JSON.stringify(object)) as JsonObject
  return Object.fromEntries(Object.entries(plain).filter(([name]) => !notSettings.has(name)))
}

function pick(settings: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (name in settings ? [[name, settings[name]!]] : [])))
}

function withoutSecrets({ headers, ...settings }: JsonObject): JsonObject {
  return isJsonObject(headers) ? { ...settings, headerNames: Object.keys(headers) } : settings
}
