import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { hookDatabase } from './gated-database.ts'

/** A database that a test makes unavailable for some statements. Everything else reaches the real one. */
export interface FailingDatabase extends OpenDatabase {
  /** The next `statements` statements fail. */
  failNext(statements: number): void
  /** From now on, every statement fails the first time it is executed and succeeds after that. */
  failEachOnce(): void
  /** Every statement succeeds again. */
  recover(): void
  /** How many statements have failed. */
  readonly failures: number
}

/** Failures as pg reports them: the connection broke, was refused, the statement timed out, no connection was free. */
const failures: readonly (() => Error)[] = [
  () => new Error('Connection terminated unexpectedly'),
  () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' }),
  () => Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' }),
  () => Object.assign(new Error('sorry, too many clients already'), { code: '53300' }),
]

/** `canFail` limits the failures to some statements, by their SQL. */
export function createFailingDatabase(
  database: OpenDatabase,
  canFail: (statement: string) => boolean = () => true,
): FailingDatabase {
  let left = 0
  let failed = 0
  let seen: Set<string> | undefined
  const shouldFail = (statement: string): boolean => {
    if (!canFail(statement)) return false
    if (left > 0) return (left -= 1) >= 0
    return seen !== undefined && !seen.has(statement) && Boolean(seen.add(statement))
  }
  const db = hookDatabase(database.pool, {
    before(statement) {
      if (shouldFail(statement)) throw failures[failed++ % failures.length]!()
    },
  })
  return {
    ...database,
    db,
    failNext: (statements) => void (left = statements),
    failEachOnce: () => void (seen = new Set()),
    recover() {
      left = 0
      seen = undefined
    },
    get failures() {
      return failed
    },
  }
}
