import type { Compilable, Kysely, QueryResult, RawBuilder, Transaction } from 'kysely'
import pg from 'pg'

import type { Database } from './schema.ts'

/**
 * Names of the statements to prepare, by their text. The hot path has few texts, so more than this would be a mistake.
 */
const names = new Map<string, string>()
const mostNames = 500

/**
 * Executes a statement of the hot path. Postgres parses and plans it once per connection; later executions send only
 * its name and values. The text must not depend on the values.
 */
export function executePrepared<Row>(
  db: Kysely<Database> | Transaction<Database>,
  query: RawBuilder<Row> | Compilable<Row>,
): Promise<QueryResult<Row>> {
  const compiled = query.compile(db)
  if (names.size < mostNames && !names.has(compiled.sql)) names.set(compiled.sql, `holdpoint_${names.size}`)
  return db.executeQuery(compiled)
}

interface AnyClient {
  query(config: unknown, ...rest: unknown[]): unknown
}
const Client = pg.Client as unknown as new (config?: pg.ClientConfig) => AnyClient

class Preparing extends Client {
  override query(config: unknown, ...rest: unknown[]): unknown {
    const name = typeof config === 'string' && Array.isArray(rest[0]) ? names.get(config) : undefined
    if (name === undefined) return super.query(config, ...rest)
    const [values, ...others] = rest
    return super.query({ name, text: config, values }, ...others)
  }
}

/** A client that prepares the statements given to `executePrepared`. */
export const PreparingClient = Preparing as unknown as typeof pg.Client
