import { GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'

import { ClientError, toClientError, type ClientErrorCode } from '../graphql/errors.ts'
import type { Log } from '../util/log.ts'

/** Gives errors of parsing and validation their codes. Yoga masks later errors, but not these. */
export function useErrorCodes(log: Log): Plugin {
  const coded = (error: unknown, code: ClientErrorCode): ClientError =>
    error instanceof GraphQLError && !(error instanceof ClientError) && error.originalError === undefined
      ? new ClientError(code, error.message, { at: error })
      : toClientError(error, log)
  return {
    onParse: () => (hook) => {
      if (hook.result instanceof Error) hook.replaceParseResult(coded(hook.result, 'GRAPHQL_PARSE_FAILED'))
    },
    onValidate: () => (hook) => {
      if (!hook.valid) hook.setResult(hook.result.map((error) => coded(error, 'GRAPHQL_VALIDATION_FAILED')))
    },
  }
}
