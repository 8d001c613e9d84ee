import type { ExecutionResult } from 'graphql'
import type { FetchAPI, Plugin } from 'graphql-yoga'

import { statusOf, toClientError } from '../../graphql/errors.ts'
import type { Log } from '../../util/log.ts'
import { acceptsMultipart } from '../limits/request-rules.ts'

/** After this much silence a proxy may take the connection for dead. The protocol allows at most ten seconds. */
const heartbeatMs = 8_000

const contentType = 'multipart/mixed;boundary="graphql";subscriptionSpec="1.0"'

/**
 * Subscriptions as Apollo's clients and routers ask for them: each result is a part, and an empty part is a sign of
 * life. Whatever is not a stream is answered as JSON, with the status of its error.
 */
export function useMultipartSubscriptions(log: Log): Plugin {
  return {
    onResultProcess({ request, setResultProcessor }) {
      const accept = request.headers.get('accept') ?? ''
      if (!acceptsMultipart(request) || /text\/event-stream/i.test(accept)) return
      const jsonType = accept.includes('application/graphql-response+json')
        ? 'application/graphql-response+json'
        : 'application/json'
      setResultProcessor((result, fetchAPI) => {
        if (Array.isArray(result)) throw new Error('Batches are off.')
        if (Symbol.asyncIterator in result) return streamOf(result as AsyncIterable<ExecutionResult>, fetchAPI)
        const { errors, data } = result as ExecutionResult
        const { status, headers } = errors && !data ? statusOf(toClientError(errors[0], log)) : { status: 200 }
        const init = { status, headers: { ...headers, 'content-type': `${jsonType}; charset=utf-8` } }
        return new fetchAPI.Response(JSON.stringify(result), init)
      }, contentType)
    },
  }
}

function streamOf(results: AsyncIterable<ExecutionResult>, { ReadableStream, Response }: FetchAPI): Response {
  const iterator = results[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  let heartbeat: NodeJS.Timeout
  // The delimiter follows each part at once: without it, clients cannot tell that the part is complete.
  const part = (body: object) =>
    encoder.encode(`\r\nContent-Type: application/json; charset=utf-8\r\n\r\n${JSON.stringify(body)}\r\n--graphql`)
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode('\r\n--graphql'))
      heartbeat = setInterval(() => {
        if (controller.desiredSize === null) return clearInterval(heartbeat)
        // At 0, the client has not read what it was sent last.
        if (controller.desiredSize > 0) controller.enqueue(part({}))
      }, heartbeatMs)
    },
    async pull(controller) {
      const next = await iterator.next()
      heartbeat.refresh()
      if (!next.done) return controller.enqueue(part({ payload: next.value }))
      clearInterval(heartbeat)
      controller.enqueue(encoder.encode('--\r\n'))
      controller.close()
    },
    async cancel() {
      clearInterval(heartbeat)
      await iterator.return?.()
    },
  })
  const headers = { 'content-type': contentType, 'cache-control': 'no-cache', connection: 'keep-alive' }
  return new Response(body, { headers })
}
