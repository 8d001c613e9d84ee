import { sql, type SelectQueryBuilder } from 'kysely'

import { badCursor, badUserInput } from '../domain/errors.ts'

/** What a connection field is asked for, as GraphQL hands it over. */
export interface PageArguments {
  readonly first?: number | null | undefined
  readonly after?: string | null | undefined
  readonly last?: number | null | undefined
  readonly before?: string | null | undefined
}

export interface Page<Node> {
  readonly nodes: readonly Node[]
  /** One for each node. */
  readonly cursors: readonly string[]
  readonly hasNextPage: boolean
  readonly hasPreviousPage: boolean
}

export const defaultPageSize = 50
export const maxPageSize = 200

type CursorKind = 'uuid' | 'integer'

const cursorPatterns: Record<CursorKind, RegExp> = {
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  integer: /^(0|[1-9][0-9]{0,8})$/,
}

/** A cursor is the key of a row and whose key it is, so that no list takes another one's for its own. */
interface ListKey {
  readonly key: string
  readonly kind: CursorKind
}

function decodeCursor(field: 'after' | 'before', cursor: string, list: ListKey): string {
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  const value = text.slice(list.key.length + 1)
  if (!cursorPatterns[list.kind].test(value) || encodeCursor(list, value) !== cursor) {
    throw badCursor(
      `${field}: ${JSON.stringify(cursor.slice(0, 100))} is not a cursor of this list. Pass an edge's cursor or pageInfo's startCursor or endCursor unchanged.`,
    )
  }
  return value
}

function encodeCursor(list: ListKey, value: string): string {
  return Buffer.from(`${list.key}:${value}`, 'utf8').toString('base64url')
}

function pageSize(page: PageArguments): number {
  for (const field of ['first', 'last'] as const) {
    const size = page[field]
    if (size === null || size === undefined) continue
    if (size < 0) throw badUserInput(field, `${size} is negative. It takes a number from 0 to ${maxPageSize}.`)
    if (size > maxPageSize)
      throw badUserInput(field, `${size} is too many. It takes a number from 0 to ${maxPageSize}.`)
  }
  if (typeof page.first === 'number' && typeof page.last === 'number') {
    throw badUserInput('last', 'It cannot be combined with `first`. Give one of the two.')
  }
  return page.first ?? page.last ?? defaultPageSize
}

/**
 * One page by keyset, both ways: `query` selects from everything in the list, `key` is a column that is unique in it
 * and in whose order it is shown. Rows that are inserted meanwhile move no page: a page is what lies beyond a key.
 */
export async function readPage<DB, TB extends keyof DB, Row, Node>(
  query: SelectQueryBuilder<DB, TB, Row>,
  page: PageArguments,
  options: ListKey & {
    readonly order: 'oldest first' | 'newest first'
    readonly keyOf: (row: Row) => string | number
    readonly toNode: (row: Row) => Node
  },
): Promise<Page<Node>> {
  const size = pageSize(page)
  const backwards = typeof page.last === 'number' || (typeof page.before === 'string' && typeof page.first !== 'number')
  const ascending = (options.order === 'oldest first') !== backwards
  const key = sql.ref(options.key)
  const cast = sql.raw(options.kind)

  let bounded = query
  for (const field of ['after', 'before'] as const) {
    const cursor = page[field]
    if (cursor === null || cursor === undefined) continue
    const value = decodeCursor(field, cursor, options)
    const above = (field === 'after') === (options.order === 'oldest first')
    bounded = bounded.where(sql<boolean>`${key} ${sql.raw(above ? '>' : '<')} ${value}::${cast}`)
  }

  const rows = await bounded
    .orderBy(key, ascending ? 'asc' : 'desc')
    .limit(size + 1)
    .execute()
  const more = rows.length > size
  const shown = rows.slice(0, size)
  if (backwards) shown.reverse()

  return {
    nodes: shown.map(options.toNode),
    cursors: shown.map((row) => encodeCursor(options, String(options.keyOf(row)))),
    // What lies behind the starting point is known to exist by the cursor that names it.
    hasNextPage: backwards ? typeof page.before === 'string' : more,
    hasPreviousPage: backwards ? more : typeof page.after === 'string',
  }
}
