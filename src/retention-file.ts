import { readFileSync } from 'node:fs'

import { decodeId } from './domain/ids.ts'
import { retainedKinds, type RetentionRule } from './domain/retention.ts'
import { durationToMs } from './settings.ts'
import { isJsonObject, type Json } from './util/json.ts'
import { StartError } from './util/start-error.ts'

/** Rules of single tenants and agents. */
export interface RetentionExceptions {
  readonly tenants: Readonly<Record<string, RetentionRule>>
  readonly agents: Readonly<Record<string, RetentionRule>>
}

/** Reads HOLDPOINT_RETENTION. Throws a StartError that says what is wrong. */
export function readRetentionFile(path: string): RetentionExceptions {
  const fail = (what: string) => new StartError(`HOLDPOINT_RETENTION: ${what} (${path}).`)
  let json: Json
  try {
    json = JSON.parse(readFileSync(path, 'utf8')) as Json
  } catch (error) {
    throw fail(`the file cannot be read as JSON: ${(error as Error).message}`)
  }
  if (!isJsonObject(json)) throw fail('expected an object with "tenants" and "agents"')
  const unknown = Object.keys(json).find((key) => key !== 'tenants' && key !== 'agents')
  if (unknown !== undefined) throw fail(`"${unknown}" is not known; expected "tenants" and "agents"`)

  const rulesIn = (group: Json | undefined, place: string): [string, RetentionRule][] => {
    if (group === undefined) return []
    if (!isJsonObject(group)) throw fail(`${place} must be an object`)
    return Object.entries(group).map(([name, rule]) => [name, toRule(rule, `${place}.${name}`)])
  }
  const toRule = (rule: Json, place: string): RetentionRule => {
    if (!isJsonObject(rule)) throw fail(`${place} must be an object`)
    const entries = Object.entries(rule).map(([kind, value]) => {
      if (!(retainedKinds as readonly string[]).includes(kind))
        throw fail(`${place}.${kind} is not known; expected ${retainedKinds.join(', ')}`)
      const ms = value === 'forever' ? null : typeof value === 'string' ? durationToMs(value) : undefined
      if (ms === undefined) throw fail(`${place}.${kind} must be a time such as 12h or 30d, or "forever"`)
      return [kind, ms]
    })
    return Object.fromEntries(entries) as RetentionRule
  }
  const agents = rulesIn(json['agents'], 'agents').map(([id, rule]) => {
    const decoded = decodeId(id)
    if (decoded?.kind !== 'Agent') throw fail(`agents.${id} is not the id of an agent`)
    return [decoded.uuid, rule] as const
  })
  return { tenants: Object.fromEntries(rulesIn(json['tenants'], 'tenants')), agents: Object.fromEntries(agents) }
}
