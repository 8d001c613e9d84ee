import { sql, type RawBuilder } from 'kysely'

/** The columns of the rows that one statement writes, with their types. */
export type RecordColumns = Readonly<Record<string, string>>

/**
 * Rows as a table `given` inside a statement. The statement's text depends only on the columns, not on the number of
 * rows.
 */
export function givenRows(columns: RecordColumns, rows: readonly object[]): RawBuilder<unknown> {
  const definition = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
  return sql`json_to_recordset(${JSON.stringify(rows)}::json) as given(${sql.raw(definition.join(', '))})`
}

/** `a, b`, or `given.a, given.b` with a prefix. */
export function listColumns(columns: RecordColumns, prefix = ''): RawBuilder<unknown> {
  return sql.raw(
    Object.keys(columns)
      .map((name) => `${prefix}${name}`)
      .join(', '),
  )
}

/** `a = given.a, b = given.b`. */
export function setColumns(columns: RecordColumns): RawBuilder<unknown> {
  return sql.raw(
    Object.keys(columns)
      .map((name) => `${name} = given.${name}`)
      .join(', '),
  )
}
