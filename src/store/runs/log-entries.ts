import { sql, type RawBuilder } from 'kysely'

import { HoldpointError } from '../../domain/errors.ts'
import type { LogEntry } from '../../domain/runs/run-event.ts'
import type { RunError, StopReason, StoredRunStatus } from '../../domain/runs/run.ts'
import { noUsage, type Usage } from '../../domain/models/usage.ts'
import type { ToolCallStatus } from '../../domain/tools/tool-call.ts'
import { hexOfUuid, uuidOfHex } from '../../util/ids.ts'
import { storableJsonText } from '../../util/json.ts'
import { storedCost, toCost } from './usage.ts'

/**
 * The stored form of log entries. It is short, because every checkpoint of every run writes some. Each entry is an
 * array that begins with a letter; ids of messages and calls are in Base64; trailing values that are null, zero or
 * absent are omitted.
 */
type PackedUsage = readonly [
  steps: number,
  input: number,
  output: number,
  cached: number,
  reasoning: number,
  cost?: number,
]
type Packed =
  | readonly ['s', StoredRunStatus, StopReason?, (PackedUsage | null)?, RunError?]
  | readonly ['b', index: number]
  | readonly ['r', index: number, attempt: number]
  | readonly ['f', index: number]
  | readonly ['m', id: string, ...items: number[]]
  | readonly ['c', id: string, ToolCallStatus]
  | readonly ['k', runId: string]

export function packEntries(entries: readonly LogEntry[]): string {
  return storableJsonText(entries.map(pack))
}

/**
 * A row in another version of this format begins with the version's number. Rows of version 1, the only one so far,
 * begin with an entry. During an upgrade, an older process may read what a newer one wrote.
 */
export function unpackEntries(text: string): LogEntry[] {
  const row = JSON.parse(text) as Packed[]
  if (typeof row[0] === 'number' || row.some(([letter]) => !letters.includes(letter)))
    throw new HoldpointError('UNAVAILABLE', 'A newer version of the server wrote this event. Try again.')
  return row.map(unpack)
}

const letters: readonly Packed[0][] = ['s', 'b', 'r', 'f', 'm', 'c', 'k']

/** Whether a row's entries contain a change of status, or a change to the given status. */
export function tellsStatus(entries: RawBuilder<unknown>, status?: StoredRunStatus): RawBuilder<boolean> {
  return sql<boolean>`${entries}::jsonb @> ${JSON.stringify([status ? ['s', status] : ['s']])}::jsonb`
}

/** The background runs named in a row's entries, as a set of UUIDs. */
export function childrenNamed(entries: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select (entry ->> 1)::uuid from jsonb_array_elements(${entries}::jsonb) entry where entry ->> 0 = 'k')`
}

/**
 * The id of a message or call as it is written in an entry. The reader accepts both alphabets of Base64, with or
 * without padding.
 */
export function packedId(id: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`encode(uuid_send(${id}), 'base64')`
}

function pack(entry: LogEntry): Packed {
  switch (entry.type) {
    case 'status':
      return packStatus(entry)
    case 'stepStarted':
      return ['b', entry.index]
    case 'stepRestarted':
      return ['r', entry.index, entry.attempt]
    case 'stepFinished':
      return ['f', entry.index]
    case 'message':
      return ['m', shortened(entry.id), ...(entry.items ?? [])]
    case 'call':
      return ['c', shortened(entry.id), entry.status]
    case 'child':
      return ['k', hexOfUuid(entry.runId)]
    default:
      return entry satisfies never
  }
}

function packStatus({ status, stopReason, error, usage }: Extract<LogEntry, { type: 'status' }>): Packed {
  const cost = storedCost(usage)
  const used = [
    usage.steps,
    usage.inputTokens,
    usage.outputTokens,
    usage.cachedInputTokens,
    usage.reasoningTokens,
    ...(cost === null ? [] : [cost]),
  ] as const
  const fields = [stopReason, used.some((count) => count > 0) ? used : null, error]
  while (fields.length > 0 && fields.at(-1) === null) fields.pop()
  return ['s', status, ...fields] as unknown as Packed
}

function unpack(packed: Packed): LogEntry {
  switch (packed[0]) {
    case 's': {
      const [, status, stopReason, used, error] = packed
      return { type: 'status', status, stopReason: stopReason ?? null, error: error ?? null, usage: unpackUsage(used) }
    }
    case 'b':
      return { type: 'stepStarted', index: packed[1] }
    case 'r':
      return { type: 'stepRestarted', index: packed[1], attempt: packed[2] }
    case 'f':
      return { type: 'stepFinished', index: packed[1] }
    case 'm': {
      const [, id, ...items] = packed
      return { type: 'message', id: lengthened(id), ...(items.length > 0 ? { items } : {}) }
    }
    case 'c':
      return { type: 'call', id: lengthened(packed[1]), status: packed[2] }
    case 'k':
      return { type: 'child', runId: uuidOfHex(packed[1]) }
    default:
      return packed satisfies never
  }
}

function unpackUsage(used: PackedUsage | null | undefined): Usage & { readonly steps: number } {
  if (!used) return { ...noUsage, steps: 0 }
  const [steps, inputTokens, outputTokens, cachedInputTokens, reasoningTokens, cost] = used
  const costUsd = toCost(cost, inputTokens + outputTokens)
  return { steps, inputTokens, outputTokens, cachedInputTokens, reasoningTokens, costUsd }
}

function shortened(uuid: string): string {
  return Buffer.from(hexOfUuid(uuid), 'hex').toString('base64url')
}

function lengthened(base64: string): string {
  return uuidOfHex(Buffer.from(base64, 'base64url').toString('hex'))
}
