import { createClient, type Client, type SubscribePayload } from 'graphql-ws'
import { WebSocket } from 'ws'

import type { Fetch } from '../../src/server/handlers.ts'
import { keepSecret } from './kept-output.ts'

/** A real client on real sockets: queries with `fetch`, streams with server-sent events and WebSockets. */
export interface GraphQLClient {
  readonly url: string
  request<Data = any>(query: string, variables?: object, init?: RequestInit): Promise<GraphQLAnswer<Data>>
  /** Returns the data, or throws an error that shows what came instead. */
  data<Data = any>(query: string, variables?: object): Promise<Data>
  events<Data = any>(query: string, variables?: object, operationName?: string): Promise<EventStream<Data>>
  webSocket(options?: WebSocketOptions): WebSocketClient
}

export interface GraphQLResult<Data = any> {
  readonly data?: Data
  readonly errors?: readonly GraphQLErrorShown[]
}

export interface GraphQLErrorShown {
  readonly message: string
  readonly path?: readonly (string | number)[]
  readonly extensions: { readonly code: string; readonly [key: string]: unknown }
}

export interface GraphQLAnswer<Data = any> extends GraphQLResult<Data> {
  readonly status: number
  readonly headers: Headers
}

/** Ends at `event: complete`. Throws if the connection breaks before that. `close` disconnects the client. */
export interface EventStream<Data = any> extends AsyncIterable<GraphQLResult<Data>> {
  readonly status: number
  readonly headers: Headers
  next(): Promise<GraphQLResult<Data> | undefined>
  close(): void
}

export interface WebSocketOptions {
  readonly authorization?: string
  readonly headers?: Record<string, string>
  readonly retryAttempts?: number
}

export interface WebSocketClient {
  readonly client: Client
  /** Resolves with the close code and reason of the socket. */
  readonly closed: Promise<{ code: number; reason: string }>
  stream<Data = any>(query: string, variables?: Record<string, unknown>): WebSocketStream<Data>
  /** Returns the only result. Errors from an `error` message are in `errors`. */
  request<Data = any>(
    query: string,
    variables?: Record<string, unknown>,
    operationName?: string,
  ): Promise<GraphQLResult<Data>>
  dispose(): Promise<void>
}

export interface WebSocketStream<Data = any> extends AsyncIterable<GraphQLResult<Data>> {
  next(): Promise<GraphQLResult<Data> | undefined>
  /** Sends `complete`. */
  close(): Promise<void>
}

export function createGraphQLClient(
  url: string,
  { authorization, fetch = globalThis.fetch }: { authorization?: string; fetch?: Fetch } = {},
): GraphQLClient {
  if (authorization) keepSecret(authorization)
  const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) }

  const client: GraphQLClient = {
    url,
    async request(query, variables, init = {}) {
      const response = await fetch(url, {
        method: 'POST',
        body: JSON.stringify({ query, variables }),
        ...init,
        headers: {
          accept: 'application/graphql-response+json',
          ...headers,
          ...(init.headers as Record<string, string>),
        },
      })
      const text = await response.text()
      const body = response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : { text }
      return { status: response.status, headers: response.headers, ...body }
    },
    async data(query, variables) {
      const { data, errors } = await client.request(query, variables)
      if (errors) throw new Error(errors.map((error) => `${error.extensions.code}: ${error.message}`).join('\n'))
      return data
    },
    async events(query, variables, operationName) {
      const abort = new AbortController()
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, accept: 'text/event-stream' },
        body: JSON.stringify({ query, variables, operationName }),
        signal: abort.signal,
      })
      return readEvents(response, abort)
    },
    webSocket: (options = {}) =>
      openWebSocket(url.replace(/^http/, 'ws'), { ...(authorization && { authorization }), ...options }),
  }
  return client
}

function readEvents(response: Response, abort: AbortController): EventStream {
  const results = parseEvents(response)
  return {
    status: response.status,
    headers: response.headers,
    async next() {
      const { done, value } = await results.next()
      return done ? undefined : value
    },
    close: () => abort.abort(),
    [Symbol.asyncIterator]: () => results,
  }
}

async function* parseEvents(response: Response): AsyncGenerator<GraphQLResult, void> {
  let buffered = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    buffered += chunk
    for (let end = buffered.indexOf('\n\n'); end >= 0; end = buffered.indexOf('\n\n')) {
      const lines = buffered.slice(0, end).split('\n')
      buffered = buffered.slice(end + 2)
      if (lines.includes('event: complete')) return
      const data = lines.find((line) => line.startsWith('data: '))
      if (data) yield JSON.parse(data.slice('data: '.length))
    }
  }
  throw new Error('The event stream ended without `complete`.')
}

function openWebSocket(url: string, { authorization, headers, retryAttempts = 0 }: WebSocketOptions): WebSocketClient {
  const closed = Promise.withResolvers<{ code: number; reason: string }>()
  const client = createClient({
    url,
    lazy: false,
    retryAttempts,
    ...(authorization && { connectionParams: { Authorization: authorization } }),
    webSocketImpl: headers
      ? class extends WebSocket {
          constructor(address: string, protocols: string) {
            super(address, protocols, { headers })
          }
        }
      : WebSocket,
    on: { closed: (event) => closed.resolve(event as { code: number; reason: string }) },
    onNonLazyError: () => {},
  })

  const opened: WebSocketClient = {
    client,
    closed: closed.promise,
    stream(query, variables) {
      const results = client.iterate<any>({ query, variables: variables ?? null })
      // graphql-ws loses an error that arrives before the first result is requested, so the first is requested at once.
      let first: Promise<IteratorResult<unknown>> | undefined = results.next()
      first.catch(() => {})
      const next = (): Promise<IteratorResult<GraphQLResult>> => {
        const asked = first ?? results.next()
        first = undefined
        return asErrors(asked) as Promise<IteratorResult<GraphQLResult>>
      }
      const close = async (): Promise<void> => void (await results.return!(undefined))
      return {
        next: async () => {
          const { done, value } = await next()
          return done ? undefined : value
        },
        close,
        [Symbol.asyncIterator]: () => ({
          next,
          return: async () => (await close(), { done: true as const, value: undefined }),
        }),
      }
    },
    async request(query, variables, operationName) {
      const payload: SubscribePayload = { query, variables: variables ?? null, operationName: operationName ?? null }
      const { value } = await asErrors(client.iterate<any>(payload).next())
      return value as GraphQLResult
    },
    dispose: async () => client.dispose(),
  }
  return opened
}

/**
 * graphql-ws throws the payload of an `error` message, an array of errors, or the event with which the socket was
 * closed.
 */
async function asErrors(next: Promise<IteratorResult<unknown>>): Promise<IteratorResult<unknown>> {
  try {
    return await next
  } catch (error) {
    if (Array.isArray(error)) return { done: false, value: { errors: error } }
    const { code, reason } = error as { code?: number; reason?: string }
    throw new Error(`The socket was closed: ${code} ${reason}`, { cause: error })
  }
}
