import { CompiledQuery, RawNode, ValueNode, type OperationNode, type QueryResult, type RawBuilder } from 'kysely'
import pg from 'pg'

import type { Db } from './schema.ts'

/**
 * Names of the statements to prepare, by their text. The hot path has few texts, so more than this would be a mistake.
 */
const names = new Map<string, string>()
const mostNames = 500

/**
 * Executes a statement of the hot path. Postgres parses and plans it once per connection; later executions send only
 * its name and values. The text must not depend on the values.
 */
export function executePrepared<Row>(db: Db, query: RawBuilder<Row>): Promise<QueryResult<Row>> {
  const values: unknown[] = []
  const place = placeOf(query.toOperationNode(), values, beginning)
  if (place?.text !== undefined) return db.executeQuery(CompiledQuery.raw(place.text, values))
  const compiled = query.compile(db)
  if (names.size < mostNames && !names.has(compiled.sql)) names.set(compiled.sql, `holdpoint_${names.size}`)
  if (place && names.has(compiled.sql)) place.text = compiled.sql
  return db.executeQuery(compiled)
}

/**
 * The texts that were compiled, as a tree of their constant pieces, with `null` for each value between them. Finding a
 * text here is cheaper than compiling it again and looking its name up.
 */
interface Place {
  readonly next: Map<string | null, Place>
  text?: string
}

const beginning: Place = { next: new Map() }

/** Collects the values on the way. Undefined if the statement is made of more than constant pieces and values. */
function placeOf(node: OperationNode, values: unknown[], from: Place): Place | undefined {
  if (ValueNode.is(node)) {
    values.push(node.value)
    return node.immediate ? undefined : step(from, null)
  }
  if (!RawNode.is(node)) return undefined
  let place: Place | undefined = from
  for (let index = 0; index < node.sqlFragments.length; index += 1) {
    const piece = node.sqlFragments[index]!
    const parameter = node.parameters[index]
    if (piece !== '') place = step(place, piece)
    if (parameter) place = placeOf(parameter, values, place)
    if (!place) return undefined
  }
  return place
}

function step(from: Place, piece: string | null): Place {
  const known = from.next.get(piece)
  if (known) return known
  const place: Place = { next: new Map() }
  // A text that is not kept needs no place.
  if (names.size < mostNames) from.next.set(piece, place)
  return place
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
