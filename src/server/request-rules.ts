import type { Plugin } from 'graphql-yoga'

import { ClientError } from '../graphql/errors.ts'
import { isJsonObject } from '../util/json.ts'

/**
 * JSON in; JSON or events out. Told before anything is read or run, so that no mutation takes effect whose answer nobody
 * can be given. A form or plain text, which a page of any site can post without asking, gets nowhere.
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
        refuse(415, `The body must be JSON: send \`Content-Type: application/json\`, not ${type ?? 'none'}.`)
      } else if (!answerTypes.some((answerType) => accepts(request, answerType))) {
        refuse(406, `\`Accept\` must allow one of ${answerTypes.join(', ')}.`)
      } else if (request.method === 'GET') {
        checkUrlJson(new URL(request.url).searchParams)
      }
    },
  }
}

/** yoga parses these without looking, and would take what is no JSON for a bug of ours. */
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

/** Quality values are not weighed: what is named is accepted. */
export function accepts(request: Request, type: (typeof answerTypes)[number]): boolean {
  const named = (request.headers.get('accept') ?? '*/*')
    .split(',')
    .map((one) => one.split(';')[0]?.trim().toLowerCase())
  return named.includes(type) || named.includes('*/*') || named.includes(`${type.split('/')[0]}/*`)
}

/** GraphQL over HTTP has unknown keys of a request ignored; yoga would refuse them. */
export function useKnownParameters(): Plugin {
  return {
    onParams({ params, setParams }) {
      // As the client sent it: yoga has not checked it yet.
      const given: unknown = params
      if (!isJsonObject(given)) return
      const { query, variables, operationName, extensions } = params
      setParams({
        ...(query !== undefined && { query }),
        ...(variables !== undefined && { variables }),
        ...(operationName !== undefined && { operationName }),
        ...(extensions !== undefined && { extensions }),
      })
    },
  }
}
