import { errorCode } from '../../util/start-error.ts'

/** Error codes, of Postgres and of the operating system, after which the same statement may succeed later. */
const transientCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
  '25006', // the database is read-only: it is failing over, or its disk is full
  '25P03', // the transaction was idle for too long
  '40001', // serialization failure
  '40P01', // deadlock
  '55P03', // lock_timeout
  '57014', // statement_timeout, or an administrator cancelled the statement
  '57P01', // the server is shutting down
  '57P02', // the server crashed
  '57P03', // the server is starting up
  '57P05', // the session was idle for too long
  '58030', // I/O error
])

/** Classes of Postgres error codes: connection failures, and resources (disk, memory, connections) that ran out. */
const transientClasses = /^(08|53)\w{3}$/

/** pg gives these errors neither a class nor a code. */
const transientMessage =
  /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout)/

/** Whether no connection of the pool became free in time. That says nothing about the database. */
export function isFullPool(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect'
}

/**
 * Whether the database failed for a reason that passes by itself: it could not be reached, the connection broke, it
 * timed out, ran out of a resource or ended a deadlock. The same work may succeed when it is tried again. Every other
 * failure is a bug or bad input, and would fail again.
 */
export function isTransientFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = errorCode(error)
  return (
    (error as { readonly syscall?: unknown }).syscall === 'connect' ||
    (code !== undefined && (transientCodes.has(code) || transientClasses.test(code))) ||
    transientMessage.test(error.message)
  )
}
