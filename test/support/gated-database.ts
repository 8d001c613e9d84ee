import { CompiledQuery, Kysely, PostgresDialect, type DatabaseConnection, type Driver, type QueryResult } from 'kysely'
import type pg from 'pg'

import type { Database } from '../../src/store/database/schema.ts'

/**
 * Called around every statement, including those that begin and commit transactions. If it throws, the statement
 * throws.
 */
export interface StatementHooks {
  /** Called before a connection is taken. */
  acquire?(): void
  /** All statements of one transaction have the same `holder`, and no other transaction has it. */
  before?(statement: string, parameters: readonly unknown[], holder: object): Promise<void> | void
  /** The statement was executed. An error thrown here means that its result was lost. */
  after?(statement: string): Promise<void> | void
  /** The database refused it. */
  failed?(statement: string): void
}

/** A database whose statements all pass through hooks, on a pool that its owner closes. */
export function hookDatabase(pool: pg.Pool, hooks: StatementHooks): Kysely<Database> {
  return new Kysely<Database>({ dialect: new HookedDialect(pool, hooks) })
}

class HookedDialect extends PostgresDialect {
  readonly #hooks: StatementHooks

  constructor(pool: pg.Pool, hooks: StatementHooks) {
    super({ pool })
    this.#hooks = hooks
  }

  override createDriver(): Driver {
    return new HookedDriver(super.createDriver(), this.#hooks)
  }
}

class HookedDriver implements Driver {
  readonly #inner: Driver
  readonly #hooks: StatementHooks

  constructor(inner: Driver, hooks: StatementHooks) {
    this.#inner = inner
    this.#hooks = hooks
  }

  init(): Promise<void> {
    return this.#inner.init()
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    this.#hooks.acquire?.()
    return new HookedConnection(await this.#inner.acquireConnection(), this.#hooks)
  }

  // These reach the connection as statements, so they pass the hooks.
  beginTransaction(...[connection, settings]: Parameters<Driver['beginTransaction']>): Promise<void> {
    return this.#inner.beginTransaction(connection, settings)
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#inner.commitTransaction(connection)
  }

  rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#inner.rollbackTransaction((connection as HookedConnection).inner)
  }

  releaseConnection(connection: DatabaseConnection): Promise<void> {
    return this.#inner.releaseConnection((connection as HookedConnection).inner)
  }

  async destroy(): Promise<void> {}
}

class HookedConnection implements DatabaseConnection {
  readonly inner: DatabaseConnection
  readonly #hooks: StatementHooks

  constructor(inner: DatabaseConnection, hooks: StatementHooks) {
    this.inner = inner
    this.#hooks = hooks
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    await this.#hooks.before?.(query.sql, query.parameters, this)
    const result = await this.inner.executeQuery<R>(query).catch((error: unknown) => {
      this.#hooks.failed?.(query.sql)
      throw error
    })
    try {
      await this.#hooks.after?.(query.sql)
    } catch (error) {
      // Kysely rolls back a transaction that it knows to have begun. The connection returns to the pool either way.
      if (query.sql === 'begin') await this.inner.executeQuery(CompiledQuery.raw('rollback'))
      throw error
    }
    return result
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streams are not used')
  }
}
