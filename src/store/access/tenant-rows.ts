import { sql } from 'kysely'

import type { Reach } from '../../domain/access/viewer.ts'
import type { Database, Db, Row } from '../database/schema.ts'
import { ofTenant, type TenantTable } from './tenant-scope.ts'

/** Tables of a tenant whose rows have ids. */
type Table = { [Name in TenantTable]: Database[Name] extends { id: string } ? Name : never }[TenantTable]

type Read<Node> = (db: Db, reach: Reach, ids: readonly string[]) => Promise<Node[]>

type Lock = 'for update' | 'for no key update'

/** A function that finds rows by their ids, in any order. Rows that are out of reach are missing. */
export function finderOf<Name extends Table, Node>(table: Name, toNode: (row: Row<Name>) => Node): Read<Node> {
  return readerOf(table, toNode, '')
}

/** A function that locks rows in the order of their ids, so that no two commands deadlock. */
export function lockerOf<Name extends Table, Node>(
  table: Name,
  toNode: (row: Row<Name>) => Node,
  lock: Lock,
): Read<Node> {
  return readerOf(table, toNode, `order by id ${lock}`)
}

/** A function that locks one row. Undefined if it is out of reach. */
export function rowLockerOf<Name extends Table, Node>(table: Name, toNode: (row: Row<Name>) => Node, lock: Lock) {
  const lockRows = lockerOf(table, toNode, lock)
  return async (trx: Db, reach: Reach, id: string): Promise<Node | undefined> => (await lockRows(trx, reach, [id]))[0]
}

/**
 * A function that finds a row and keeps it from being deleted until the transaction ends. It waits for no other change
 * of the row, nor for other callers.
 */
export function sharerOf(table: Table) {
  return async (trx: Db, reach: Reach, id: string): Promise<{ readonly id: string } | undefined> => {
    const { rows } = await sql<{ id: string }>`
      select id from ${sql.table(table)} where ${ofTenant(table, reach)} and id = ${id} for key share`.execute(trx)
    return rows[0]
  }
}

function readerOf<Name extends Table, Node>(table: Name, toNode: (row: Row<Name>) => Node, end: string): Read<Node> {
  return async (db, reach, ids) => {
    if (ids.length === 0) return []
    const rows = sql.table(table)
    const found = await sql<Row<Name>>`
      select * from ${rows} where ${ofTenant(table, reach)} and id = any(${ids}::uuid[]) ${sql.raw(end)}`.execute(db)
    return found.rows.map(toNode)
  }
}

/** How a page of a table is cut: by id, which is the order of creation. */
export function byId<Name extends Table, Node>(table: Name, toNode: (row: Row<Name>) => Node) {
  const keyOf = (row: Row<Name>) => (row as { readonly id: string }).id
  return { key: `${table}.id`, kind: 'uuid', order: 'oldest first', keyOf, toNode } as const
}
