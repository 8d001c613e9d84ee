import { uuidOf } from '../domain/ids.ts'
import type { RetentionRule } from '../domain/retention.ts'
import { entries, object, optional, type Shape } from './file.ts'
import { durationToMs } from './kinds.ts'

/** Rules of single tenants, and of agents by their UUID. */
export interface RetentionExceptions {
  readonly tenants?: Readonly<Record<string, RetentionRule>>
  readonly agents?: Readonly<Record<string, RetentionRule>>
}

/** In milliseconds. Null means forever. */
const time: Shape<number | null> = (place) => {
  if (place.value === 'forever') return null
  const ms = typeof place.value === 'string' ? durationToMs(place.value) : undefined
  if (ms === undefined) throw place.mustBe('a time such as 12h or 30d, or "forever"')
  return ms
}

const rules: Shape<Readonly<Record<string, RetentionRule>>> = entries(
  object({ logs: optional(time), runs: optional(time), archived: optional(time), audit: optional(time) }),
)

/** The file HOLDPOINT_RETENTION. */
export const retentionFile: Shape<RetentionExceptions> = object({
  tenants: optional(rules),
  agents: optional((place) => {
    const byId = Object.entries(rules(place)).map(([id, rule]) => {
      const uuid = uuidOf('Agent', id)
      if (uuid === undefined) throw place.wrong(`has "${id}", which is not the id of an agent`)
      return [uuid, rule] as const
    })
    return Object.fromEntries(byId)
  }),
})
