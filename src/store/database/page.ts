import { sql, type Expression, type Kysely, type RawBuilder, type SelectQueryBuilder, type SqlBool } from 'kysely'

import { badCursor, badUserInput } from '../../domain/errors.ts'
import { onlyRow } from './rows.ts'

/** The arguments of a connection field. */
export interface PageArguments {
  readonly first?: number | null | undefined
  readonly after?: string | null | undefined
  readonly last?: number | null | undefined
  readonly before?: string | null | undefined
}

export interface Page<Node> {
  readonly nodes: readonly Node[]
  /** One cursor for each node. */
  readonly cursors: readonly string[]
  readonly hasNextPage: boolean
  readonly hasPreviousPage: boolean
  /** How many nodes all pages have together, up to `maxCount`. */
  readonly countAll: () => Promise<number>
  /** If it is not the last of `cursors`. */
  readonly endCursor?: string | null
}

export const defaultPageSize = 50
export const maxPageSize = 200
/** The most items in a list without pages, if nothing else limits it. */
export const plainListLimit = 1000

type CursorKind = 'uuid' | 'integer' | 'bigint' | 'text'

const cursorPatterns: Record<CursorKind, RegExp> = {
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  integer: /^(0|[1-9][0-9]{0,8})$/,
  bigint: /^(0|[1-9][0-9]{0,17})$/,
  // A time and an id.
  text: /^[0-9]{17}\.[0-9a-f-]{36}$/,
}

/** A cursor names its column as well as the row's key, so that no list accepts the cursor of another. */
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

export function pageSize(page: PageArguments): number {
  for (const field of ['first', 'last'] as const) {
    const size = page[field]
    if (size === null || size === undefined) continue
    if (size < 0) throw badUserInput(field, `${size} is negative. Expected a number from 0 to ${maxPageSize}.`)
    if (size > maxPageSize)
      throw badUserInput(field, `${size} is too large. Expected a number from 0 to ${maxPageSize}.`)
  }
  if (typeof page.first === 'number' && typeof page.last === 'number') {
    throw badUserInput('last', 'It cannot be combined with `first`. Give one of the two.')
  }
  return page.first ?? page.last ?? defaultPageSize
}

/**
 * How a page is cut from its list: the conditions of its cursors, the direction to read in, and how many rows to read.
 */
export interface PagePlan {
  readonly within: RawBuilder<SqlBool>
  readonly direction: 'asc' | 'desc'
  /** One more than the page holds, to find out whether more follow. */
  readonly limit: number
  readonly backwards: boolean
}

export interface ListOrder extends ListKey {
  readonly order: 'oldest first' | 'newest first'
}

export function planPage(page: PageArguments, list: ListOrder): PagePlan {
  const limit = pageSize(page) + 1
  const backwards = typeof page.last === 'number' || (typeof page.before === 'string' && typeof page.first !== 'number')
  const bounds = (['after', 'before'] as const).flatMap((field) => {
    const cursor = page[field]
    if (cursor === null || cursor === undefined) return []
    const value = decodeCursor(field, cursor, list)
    const above = (field === 'after') === (list.order === 'oldest first')
    return [sql`${sql.ref(list.key)} ${sql.raw(above ? '>' : '<')} ${value}::${sql.raw(list.kind)}`]
  })
  return {
    within: sql<SqlBool>`${bounds.length > 0 ? sql.join(bounds, sql` and `) : sql`true`}`,
    direction: (list.order === 'oldest first') !== backwards ? 'asc' : 'desc',
    limit,
    backwards,
  }
}

/**
 * One page by keyset, in both directions. `query` selects the whole list, and `key` is a unique column that the list is
 * ordered by. A page is what lies beyond a key, so rows inserted in the meantime do not shift it.
 */
export async function readPage<DB, TB extends keyof DB, Row, Node>(
  db: Kysely<DB>,
  query: SelectQueryBuilder<DB, TB, Row>,
  page: PageArguments,
  options: ListOrder & {
    readonly keyOf: (row: Row) => string | number
    readonly toNode: (row: Row) => Node
    /** Selects a row for each node of the list. Defaults to `query`. */
    readonly counted?: Expression<unknown>
  },
): Promise<Page<Node>> {
  const plan = planPage(page, options)
  const rows = await query.where(plan.within).orderBy(sql.ref(options.key), plan.direction).limit(plan.limit).execute()
  const more = rows.length === plan.limit
  const shown = rows.slice(0, plan.limit - 1)
  if (plan.backwards) shown.reverse()

  return {
    nodes: shown.map(options.toNode),
    cursors: shown.map((row) => encodeCursor(options, String(options.keyOf(row)))),
    // A cursor names an item, so there is something on its other side.
    hasNextPage: plan.backwards ? typeof page.before === 'string' : more,
    hasPreviousPage: plan.backwards ? more : typeof page.after === 'string',
    countAll: () => countRows(db, options.counted ?? query.clearSelect().select(sql`1`.as('one'))),
  }
}

/** `totalCount` is exact up to this number and stops there. */
export const maxCount = 10_000

async function countRows<DB>(db: Kysely<DB>, query: Expression<unknown>): Promise<number> {
  const counting = sql<{ count: number }>`select count(*)::integer as count from (${query} limit ${maxCount}) counted`
  return onlyRow(await counting.execute(db)).count
}
