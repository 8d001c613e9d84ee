import type { Plugin } from 'graphql-yoga'

import { ClientError } from '../../graphql/errors.ts'
import type { Answer } from '../answer.ts'
import { contextOf } from '../operation-context.ts'
import { accepts, acceptsMultipart } from '../limits/request-rules.ts'

export function isStream({ headers }: Pick<Response, 'headers'>): boolean {
  return /^(text\/event-stream|multipart\/mixed)/.test(headers.get('content-type') ?? '')
}

/**
 * Streams over HTTP: refuses requests that do not accept one, tells proxies not to buffer, and tracks open streams.
 */
export function useEventStreams(open: Set<Answer>): Plugin<object, { answer?: Answer }> {
  return {
    onSubscribe({ args, setResultAndStopExecution }) {
      const { request, answer } = contextOf(args)
      // WebSocket operations have neither.
      if (!request || !answer) return undefined
      if (accepts(request, 'text/event-stream') || acceptsMultipart(request))
        return { onSubscribeResult: ({ result }) => releaseIfOver(answer, result) }
      const message =
        'Subscriptions over HTTP need `Accept: text/event-stream` or `multipart/mixed;subscriptionSpec="1.0"`. Send one of them, or use a WebSocket.'
      setResultAndStopExecution({ errors: [new ClientError('BAD_REQUEST', message, { http: { status: 406 } })] })
      return undefined
    },
    onResponse({ response, serverContext: { answer } }) {
      if (!isStream(response)) return
      // Otherwise nginx holds events back until its buffer is full.
      response.headers.set('x-accel-buffering', 'no')
      if (!answer || answer.isOver) return
      open.add(answer)
      answer.onceOver(() => open.delete(answer))
    },
  }
}

/** Nobody would read or release a stream whose client has left, or whose key has ended, while it was opened. */
function releaseIfOver(answer: Answer, result: object): void {
  if (answer.isOver && Symbol.asyncIterator in result) void (result as AsyncGenerator).return(undefined)
}
