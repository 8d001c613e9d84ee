import { sql, type RawBuilder } from 'kysely'

import { storableJsonText } from '../../util/json.ts'

/** Columns of the rows that one statement writes, as the parts of the statement that list them. */
export interface RecordColumns {
  /** `a integer, b text` */
  readonly definition: RawBuilder<unknown>
  /** `a, b` */
  readonly names: RawBuilder<unknown>
  /** `given.a, given.b` */
  readonly given: RawBuilder<unknown>
  /** `a = given.a, b = given.b` */
  readonly changes: RawBuilder<unknown>
}

/** Takes the type of each column. */
export function recordColumns(types: Readonly<Record<string, string>>): RecordColumns {
  const list = (show: (name: string, type: string) => string) =>
    sql.raw(
      Object.entries(types)
        .map(([name, type]) => show(name, type))
        .join(', '),
    )
  return {
    definition: list((name, type) => `${name} ${type}`),
    names: list((name) => name),
    given: list((name) => `given.${name}`),
    changes: list((name) => `${name} = given.${name}`),
  }
}

/**
 * Rows as a table `given` inside a statement. The statement's text depends only on the columns, not on the number of
 * rows.
 */
export function givenRows(definition: RawBuilder<unknown>, rows: readonly object[]): RawBuilder<unknown> {
  return sql`json_to_recordset(${storableJsonText(rows)}::json) as given(${definition})`
}
