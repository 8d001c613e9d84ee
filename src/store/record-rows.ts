import { sql, type RawBuilder } from 'kysely'

import { storableJsonText } from '../util/json.ts'
import { oncePer } from '../util/once-per.ts'

/** The columns of the rows that one statement writes, with their types. */
export type RecordColumns = Readonly<Record<string, string>>

/**
 * Rows as a table `given` inside a statement. The statement's text depends only on the columns, not on the number of
 * rows.
 */
export function givenRows(columns: RecordColumns, rows: readonly object[]): RawBuilder<unknown> {
  return sql`json_to_recordset(${storableJsonText(rows)}::json) as given(${definitionOf(columns)})`
}

const definitionOf = oncePer((columns: RecordColumns) =>
  sql.raw(
    Object.entries(columns)
      .map(([name, type]) => `${name} ${type}`)
      .join(', '),
  ),
)

/** `a, b`. */
export const listColumns = oncePer((columns: RecordColumns) => sql.raw(Object.keys(columns).join(', ')))

/** `given.a, given.b`. */
export const listGiven = oncePer((columns: RecordColumns) =>
  sql.raw(
    Object.keys(columns)
      .map((name) => `given.${name}`)
      .join(', '),
  ),
)

/** `a = given.a, b = given.b`. */
export const setColumns = oncePer((columns: RecordColumns) =>
  sql.raw(
    Object.keys(columns)
      .map((name) => `${name} = given.${name}`)
      .join(', '),
  ),
)
