import { GraphQLError, NoSchemaIntrospectionCustomRule } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import Negotiator from 'negotiator'

import { ClientError, toClientError, type ClientErrorCode } from '../../graphql/errors.ts'
import { isJsonObject } from '../../util/json.ts'
import { documentOf, type TrustedDocuments } from './trusted-documents.ts'
import { checkValueCount } from './value-count.ts'
import type { Log } from '../../util/log.ts'

/**
 * Requests are JSON, answers are JSON or events. Anything else is refused before the body is read, so that no mutation
 * takes effect whose answer cannot be sent. Any site's page can post a form or plain text without permission, so both
 * are refused.
 */
export function useContentTypes(): Plugin {
  return {
    onRequestParse({ request, fetchAPI, endResponse }) {
      const refuse = (status: number, message: string): void => {
        const body = JSON.stringify({ errors: [new ClientError('BAD_REQUEST', message)] })
        endResponse(
          new fetchAPI.Response(body, { status, headers: { 'content-type': 'application/json; charset=utf-8' } }),
        )
      }
      const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
      if (request.method === 'POST' && type !== 'application/json') {
        refuse(415, `The body must be JSON. Send \`Content-Type: application/json\` instead of ${type ?? 'no type'}.`)
      } else if (!answerTypes.some((answerType) => accepts(request, answerType)) && !acceptsMultipart(request)) {
        const types = [...answerTypes, 'multipart/mixed;subscriptionSpec="1.0"']
        refuse(406, `\`Accept\` must allow one of ${types.join(', ')}.`)
      } else if (request.method === 'GET') {
        checkUrlJson(new URL(request.url).searchParams)
      }
    },
  }
}

/** Yoga parses these without a check, and its exception would look like a bug of the server. */
function checkUrlJson(parameters: URLSearchParams): void {
  for (const name of ['variables', 'extensions']) {
    try {
      JSON.parse(parameters.get(name) || 'null')
    } catch {
      throw new ClientError('BAD_REQUEST', `\`${name}\` in the URL is not JSON.`)
    }
  }
}

const answerTypes = ['application/json', 'application/graphql-response+json', 'text/event-stream'] as const

export function accepts(request: Request, type: (typeof answerTypes)[number]): boolean {
  const accept = request.headers.get('accept') ?? undefined
  return new Negotiator({ headers: { accept } }).mediaTypes([type]).length > 0
}

/** Whether the client speaks Apollo's protocol for subscriptions over HTTP. */
export function acceptsMultipart(request: Request): boolean {
  const types = request.headers.get('accept')?.toLowerCase().split(',') ?? []
  return types.some((type) => /^\s*multipart\/mixed\s*;(.*;)?\s*subscriptionspec="?1\.0"?\s*(;|$)/.test(type))
}

/** Refuses a body with too many values before it is parsed. */
export function useValueCount(): Plugin {
  return {
    onRequestParse({ request, requestParser, setRequestParser }) {
      if (request.method !== 'POST' || !requestParser) return
      const json = async (): Promise<unknown> => {
        const text = await request.text()
        checkValueCount(text)
        return JSON.parse(text)
      }
      // Yoga's parser for JSON bodies reads nothing else of the request.
      setRequestParser(() => requestParser({ json } as Request))
    },
  }
}

/**
 * GraphQL over HTTP says that unknown keys of a request are ignored. Yoga would refuse them. The id of a trusted
 * document is replaced with its text.
 */
export function useKnownParameters(trusted: TrustedDocuments | undefined): Plugin {
  return {
    onParams({ request, params, setParams }) {
      // Unchanged from the client: yoga has not checked it yet.
      const given: unknown = params
      if (!isJsonObject(given)) return
      const { variables, operationName, extensions } = params
      // Yoga reads only the parameters of a URL that it knows.
      const ids = request.method === 'GET' ? Object.fromEntries(new URL(request.url).searchParams) : {}
      const query = documentOf({ ...ids, ...given }, trusted) as string | undefined
      setParams({
        ...(query !== undefined && { query }),
        ...(variables !== undefined && { variables }),
        ...(operationName !== undefined && { operationName }),
        ...(extensions !== undefined && { extensions }),
      })
    },
  }
}

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

/** Refuses introspection, and hides suggestions such as "Did you mean …?", which would reveal the schema bit by bit. */
export function useHiddenSchema(): Plugin {
  return {
    onValidate({ validateFn, setValidationFn, addValidationRule }) {
      addValidationRule(NoSchemaIntrospectionCustomRule)
      setValidationFn((schema, document, rules, options, typeInfo) =>
        validateFn(schema, document, rules, { ...options, hideSuggestions: true }, typeInfo),
      )
    },
  }
}
