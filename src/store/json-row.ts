import type { Selectable } from 'kysely'

import type { Database } from './schema.ts'

/** A row that came as JSON inside another: the same columns, but for times, which are texts. */
export type JsonRow = Readonly<Record<string, unknown>>

/** The row as a query of its own would have given it. Columns of times, and only those, end in `_at`. */
export function fromJsonRow<Table extends keyof Database>(row: JsonRow): Selectable<Database[Table]> {
  const columns = Object.entries(row).map(([name, value]) => [
    name,
    name.endsWith('_at') && typeof value === 'string' ? new Date(value) : value,
  ])
  return Object.fromEntries(columns) as Selectable<Database[Table]>
}
