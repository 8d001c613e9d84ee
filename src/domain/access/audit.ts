import { isJsonObject, sameJson, type Json, type JsonObject } from '../../util/json.ts'
import type { Actor } from './actor.ts'
import { approvalsOf } from '../approvals/call-approvals.ts'
import { encodeId } from '../ids.ts'
import type { ToolCall } from '../tools/tool-call.ts'

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

/** What was decided about the calls of a run, and who decided. `actor` is null for approvals that expired. */
export interface MadeDecision {
  readonly actor: Actor | null
  readonly shown: JsonObject
}

/** The decisions and approvals that are in `after` but not in `before`. */
export function decisionsMade(before: readonly ToolCall[], after: readonly ToolCall[]): MadeDecision[] {
  return after.flatMap((call): MadeDecision[] => {
    const earlier = before.find(({ id }) => id === call.id)
    const about = { toolCallId: encodeId('ToolCall', call.id), tool: call.name }
    const { decision } = call
    if (decision && !earlier?.decision) {
      const { kind, reason, note, scope, actor } = decision
      return [{ actor, shown: { ...about, ...given({ decision: kind, reason, note, scope }) } }]
    }
    return approvalsOf(call)
      .slice(earlier ? approvalsOf(earlier).length : 0)
      .map(({ actor, note, scope }) => ({
        actor,
        shown: { ...about, ...given({ decision: 'APPROVED', note, scope }) },
      }))
  })
}

function given(values: Readonly<Record<string, Json>>): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))
}
