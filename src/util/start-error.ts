/**
 * The server cannot start, for a reason that the person who starts it can fix. The message is a single line that says
 * what is wrong and what to do. `main.ts` prints only that line and exits with status 1.
 */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message.replaceAll(/\s*\n\s*/g, ' ').trim(), options)
    this.name = 'StartError'
  }
}

/** The code of a system or Postgres error, such as `EACCES` or `28P01`. Looks inside an `AggregateError` too. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  if (error instanceof AggregateError) return errorCode(error.errors[0])
  return undefined
}
