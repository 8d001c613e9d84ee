/**
 * Failures that a client can understand and act on. Each becomes one entry in `errors` with its `code` in
 * `extensions.code` (see graphql/errors.ts). Refusals that are part of normal use are data, not errors, and have
 * no class here. Anything that is not a HoldpointError is a bug: it is logged whole and masked.
 */
export type ErrorCode =
  | 'BAD_REQUEST'
  | 'BAD_USER_INPUT'
  | 'BAD_CURSOR'
  | 'IDEMPOTENCY_CONFLICT'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'OPERATION_TOO_COMPLEX'
  | 'TOO_MANY_OPERATIONS'
  | 'RATE_LIMITED'
  | 'TIMEOUT'
  | 'UNAVAILABLE'

export class HoldpointError extends Error {
  readonly code: ErrorCode
  readonly extensions: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, extensions: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.name = 'HoldpointError'
    this.code = code
    this.extensions = extensions
  }
}

/** `field` is the path of the input field at fault, such as `input.blocks.0.label`. */
export function badUserInput(field: string, message: string): HoldpointError {
  return new HoldpointError('BAD_USER_INPUT', `${field}: ${message}`, { field })
}

export function badCursor(message: string): HoldpointError {
  return new HoldpointError('BAD_CURSOR', message)
}

/** Retention has deleted events that a reader with this cursor has not had. */
export function eventsDeleted(): HoldpointError {
  return badCursor(
    'Events after the cursor were deleted because the run is old. Read the messages of the run, and continue after its lastCursor.',
  )
}

/** `what` is a noun for readers: 'agent', 'run' … An object of another tenant counts as not found. */
export function notFound(what: string, id: string): HoldpointError {
  return new HoldpointError('NOT_FOUND', `There is no ${what} with the id ${id}.`, { id })
}

export function notFoundByName(what: string, name: string): HoldpointError {
  return new HoldpointError('NOT_FOUND', `There is no ${what} named ${JSON.stringify(name.slice(0, 100))}.`, { name })
}

/** Runs the checks of an input that is part of a larger one, so that `input.name` is reported as `<place>.name`. */
export async function checkedAt<Result>(place: string, check: () => Promise<Result> | Result): Promise<Result> {
  try {
    return await check()
  } catch (error) {
    if (!(error instanceof HoldpointError) || error.code !== 'BAD_USER_INPUT') throw error
    const field = String(error.extensions['field'])
    throw badUserInput(`${place}${field.replace(/^input/, '')}`, error.message.slice(field.length + 2))
  }
}
