import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { executePrepared } from '../../src/store/database/prepared.ts'
import { createTestDatabase } from '../support/database.ts'

test('[SPD2] a prepared statement is used again with other values, and another text is another statement', async () => {
  const database = await createTestDatabase()
  try {
    const sum = (numbers: readonly number[], { negative = false } = {}) =>
      executePrepared(
        database.db,
        sql<{ total: number }>`select ${negative ? sql`-` : sql``}(${sql.join(
          numbers.map((number) => sql`${number}::integer`),
          sql` + `,
        )}) as total limit ${1}`,
      ).then(({ rows }) => rows[0]!.total)
    const quoted = (text: string) =>
      executePrepared(
        database.db,
        sql<{ text: string }>`select ${text}::text as text, ${sql.ref('relname')} as one from pg_class limit 1`,
      ).then(({ rows }) => rows[0]!.text)
    for (const offset of [0, 10, 20]) {
      expect(await sum([offset + 1])).toBe(offset + 1)
      expect(await sum([offset + 1, 2])).toBe(offset + 3)
      expect(await sum([offset + 1, 2], { negative: true })).toBe(-offset - 3)
      expect(await quoted(`$1 ' ${offset}`)).toBe(`$1 ' ${offset}`)
    }
    const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(database.db)
    const texts = rows.map(({ statement }) => statement)
    expect(new Set(texts).size).toBe(texts.length)
    expect(texts.filter((text) => text.includes('as total'))).toHaveLength(3)
    expect(texts.filter((text) => text.includes('as one'))).toHaveLength(1)
  } finally {
    await database.close()
  }
})
