import { randomUUID } from 'node:crypto'
import { GraphQLError } from 'graphql'

import { type ErrorCode, HoldpointError } from '../domain/errors.ts'
import { isFullPool, isTransientFailure } from '../store/database/transient-failure.ts'
import type { Log } from '../util/log.ts'

export type ClientErrorCode =
  | ErrorCode
  | 'GRAPHQL_PARSE_FAILED'
  | 'GRAPHQL_VALIDATION_FAILED'
  | 'OPERATION_RESOLUTION_FAILURE'
  | 'PERSISTED_QUERY_NOT_SUPPORTED'
  | 'INTERNAL_SERVER_ERROR'

/** The HTTP status if the whole request failed. The error of one field has a path and does not change the status. */
const statusByCode: Readonly<Record<ClientErrorCode, number>> = {
  GRAPHQL_PARSE_FAILED: 400,
  GRAPHQL_VALIDATION_FAILED: 400,
  OPERATION_RESOLUTION_FAILURE: 400,
  OPERATION_TOO_COMPLEX: 400,
  BAD_REQUEST: 400,
  // Part of normal use: the client sends the whole query next.
  PERSISTED_QUERY_NOT_SUPPORTED: 200,
  BAD_USER_INPUT: 400,
  BAD_CURSOR: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  IDEMPOTENCY_CONFLICT: 409,
  RATE_LIMITED: 429,
  TOO_MANY_OPERATIONS: 429,
  INTERNAL_SERVER_ERROR: 500,
  UNAVAILABLE: 503,
  TIMEOUT: 504,
}

/** GraphQL over HTTP answers these with 200 if the client accepts `application/json` only. */
const requestErrors: ReadonlySet<ClientErrorCode> = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
])

interface ClientErrorOptions {
  /** Sent to the client with the code. */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
  /** Replaces the status of the code, or adds headers. */
  readonly http?: HttpHint | undefined
  /** The error that has the position in the document and the path in the result. */
  readonly at?: GraphQLError | undefined
}

interface HttpHint {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** An error that clients may see. It has a code of the contract and reveals nothing about the server. */
export class ClientError extends GraphQLError {
  readonly code: ClientErrorCode

  constructor(code: ClientErrorCode, message: string, { extensions, http, at }: ClientErrorOptions = {}) {
    super(message, {
      nodes: at?.nodes ?? null,
      source: at?.source ?? null,
      positions: at?.positions ?? null,
      path: at?.path ?? null,
      extensions: { code, ...extensions },
    })
    this.code = code
    // Yoga reads the status from here. The property is not enumerable, so that no transport serialises it.
    if (this.path === undefined || http !== undefined) {
      const value = {
        status: statusByCode[code],
        spec: http === undefined && requestErrors.has(code),
        ...(code === 'UNAUTHENTICATED' && { headers: { 'www-authenticate': 'Bearer' } }),
        ...http,
      }
      Object.defineProperty(this.extensions, 'http', { value, enumerable: false })
    }
  }
}

/** The status and headers of an answer that consists of this error. */
export function statusOf(error: ClientError): HttpHint & { readonly status: number } {
  return { status: statusByCode[error.code], ...error.extensions['http'] }
}

/**
 * The only place where errors are converted for clients, on every transport. Domain errors keep their code. A transient
 * failure of the database becomes UNAVAILABLE. Anything else is a bug: it is logged in full, and the client gets its
 * id.
 */
export function toClientError(error: unknown, log: Log): ClientError {
  if (error instanceof ClientError) return error
  const at = error instanceof GraphQLError ? error : undefined
  const cause = rootCause(error)
  if (cause instanceof ClientError || cause instanceof HoldpointError) {
    return new ClientError(cause.code, cause.message, { extensions: cause.extensions, at })
  }
  if (cause instanceof GraphQLError) {
    const known = fromGraphQLError(cause, at)
    if (known !== undefined) return known
  }
  if (isFullPool(cause)) {
    log.warn({ path: at?.path }, 'no database connection became free in time')
    return new ClientError('UNAVAILABLE', 'The server is busy at the moment. Try again.', { at })
  }
  if (isTransientFailure(cause)) {
    log.warn({ err: cause, path: at?.path }, 'the database is unavailable')
    return new ClientError('UNAVAILABLE', 'The database is unavailable at the moment. Try again.', { at })
  }
  const errorId = randomUUID()
  log.error({ errorId, err: cause, path: at?.path }, 'internal error')
  return new ClientError('INTERNAL_SERVER_ERROR', `Internal error. The server logged it as ${errorId}.`, {
    extensions: { errorId },
    at,
  })
}

/** Whether the database failed for a transient reason, so that executing the same field later may succeed. */
export function isTransientError(error: unknown): boolean {
  return isTransientFailure(rootCause(error))
}

/** For a variable whose value does not match its type. `field` is its path, such as `input.blocks[0].label`. */
export function toVariableError(error: GraphQLError): ClientError {
  const variable = /^Variable "\$(\w+)"/.exec(error.message)?.[1]
  const path = / at "([^"]+)"; /.exec(error.message)?.[1]
  return new ClientError('BAD_USER_INPUT', withoutValues(error.message), {
    extensions: { field: path ?? variable ?? null },
    at: error,
  })
}

/**
 * graphql-js prints the whole value of a variable. An object or list may hold secrets, such as the headers of a tool.
 */
function withoutValues(message: string): string {
  const [, variable, place = '', why] =
    /^(Variable "\$\w+" got) invalid value [[{][\s\S]*[\]}]( at "[^"]+")?; ([^;]*)$/.exec(message) ?? []
  const short = variable === undefined ? message : `${variable} an invalid value${place}; ${why}`
  return short.replace(/(value: )[[{][\s\S]*$/, '$1an object or list.')
}

function rootCause(error: unknown): unknown {
  let cause = error
  while (cause instanceof GraphQLError && cause.originalError !== undefined) cause = cause.originalError
  return cause
}

/**
 * For errors of yoga and of the executor. Errors without a code come from results that do not match the schema, which
 * are bugs.
 */
function fromGraphQLError(error: GraphQLError, at: GraphQLError | undefined): ClientError | undefined {
  const { code, http } = error.extensions as { code?: unknown; http?: HttpHint }
  if (code === 'INTERNAL_SERVER_ERROR') return undefined
  if (typeof code === 'string' && code in statusByCode) {
    return new ClientError(code as ClientErrorCode, error.message, { http: withoutSpec(http), at: at ?? error })
  }
  const argument = /^Argument "(\w+)" /.exec(error.message)?.[1]
  if (argument === undefined) return undefined
  return new ClientError('BAD_USER_INPUT', error.message, { extensions: { field: argument }, at: at ?? error })
}

function withoutSpec(http: HttpHint | undefined): HttpHint | undefined {
  if (http === undefined) return undefined
  return { ...(http.status && { status: http.status }), ...(http.headers && { headers: http.headers }) }
}
