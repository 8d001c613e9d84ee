import type { ServerResponse } from 'node:http'

import type { Plugin } from 'graphql-yoga'

import { ClientError } from '../graphql/errors.ts'
import type { KeyWatch } from './key-watch.ts'
import { accepts } from './limits/request-rules.ts'

/**
 * Server-sent events: refuses requests that do not accept them, tells proxies not to buffer, and tracks open streams.
 */
export function useEventStreams(
  open: Set<ServerResponse>,
  keyWatch: KeyWatch,
): Plugin<object, { res: ServerResponse }> {
  return {
    onSubscribe({ args, setResultAndStopExecution }) {
      const { request } = args.contextValue as { request?: Request }
      // WebSocket operations have no request.
      if (request === undefined || accepts(request, 'text/event-stream')) return
      const message = 'Subscriptions over HTTP need `Accept: text/event-stream`. Send that header, or use a WebSocket.'
      setResultAndStopExecution({ errors: [new ClientError('BAD_REQUEST', message, { http: { status: 406 } })] })
    },
    onResponse({ response, serverContext: { res } }) {
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return
      // Otherwise nginx holds events back until its buffer is full.
      response.headers.set('x-accel-buffering', 'no')
      open.add(res)
      const { authorization } = res.req.headers
      const stopWatching = authorization === undefined ? () => {} : keyWatch.add(authorization, () => res.destroy())
      res.once('close', () => {
        open.delete(res)
        stopWatching()
      })
    },
  }
}
