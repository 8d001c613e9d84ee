import type { Selectable } from 'kysely'

import type { Database } from './database/schema.ts'

/** A row that was read as JSON inside another row: the same columns, but times are text. */
export type JsonRow = Readonly<Record<string, unknown>>

/** Turns it into what a separate query would have returned. Exactly the columns of times end in `_at`. */
export function fromJsonRow<Table extends keyof Database>(row: JsonRow): Selectable<Database[Table]> {
  const columns = Object.entries(row).map(([name, value]) => [
    name,
    name.endsWith('_at') && typeof value === 'string' ? new Date(value) : value,
  ])
  return Object.fromEntries(columns) as Selectable<Database[Table]>
}
