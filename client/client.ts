import { createConnectionState, type ConnectionState } from './connection-state.ts'
import { readEventStream } from './event-stream.ts'
import type { TypedDocument } from './typed-document.ts'

export type ClientOptions = SharedOptions & (Remote | InProcess)

interface Remote {
  /** The address of the GraphQL endpoint, such as `https://agents.example.com/graphql`. */
  readonly url: string
  readonly fetch?: typeof globalThis.fetch
}

interface InProcess {
  readonly url?: undefined
  /** The `fetch` of an app in the same program: nothing goes over a socket. */
  readonly fetch: (input: string, init: RequestInit) => Promise<Response>
}

interface SharedOptions {
  /** An API key or access token, or a function that returns the current one. It is called for every request. */
  readonly key?: string | undefined | (() => string | undefined | Promise<string | undefined>)
  /** A `graphql-ws` client, made with `retryAttempts: 0`. Without one, subscriptions are event streams over HTTP. */
  readonly socket?: SocketClient
}

/** The part of a `graphql-ws` client that is used. */
export interface SocketClient {
  subscribe(
    payload: { readonly query: string; readonly variables?: Record<string, unknown> | null },
    sink: {
      next(result: { data?: unknown; errors?: readonly unknown[] | undefined }): void
      error(error: unknown): void
      complete(): void
    },
  ): () => void
  on?(event: 'connected', listener: () => void): () => void
}

export interface Sink<Data> {
  next(data: Data): void
  /**
   * The subscription has failed: with a `HoldpointError` if the server refused it, with anything else if the connection
   * was lost.
   */
  error(error: unknown): void
  complete(): void
}

export interface Client {
  readonly connection: ConnectionState
  /**
   * Rejects with a `HoldpointError` if the server answers with errors, and with `fetch`'s own error if it cannot be
   * reached.
   */
  request<Data, Variables>(
    document: TypedDocument<Data, Variables>,
    variables: Variables,
    options?: { readonly signal?: AbortSignal },
  ): Promise<Data>
  /** Returns a function that ends the subscription. Nothing is called after it, or after `error` and `complete`. */
  subscribe<Data, Variables>(
    document: TypedDocument<Data, Variables>,
    variables: Variables,
    sink: Sink<Data>,
  ): () => void
}

interface GraphQLErrorShown {
  readonly message: string
  readonly extensions?: { readonly code?: string; readonly field?: string }
}

/** The server's error instead of data. */
export class HoldpointError extends Error {
  /** One of the codes of docs/clients.md, such as `NOT_FOUND`. */
  readonly code: string
  /** The input field at fault, if the server named one. */
  readonly field: string | undefined

  constructor(errors: readonly GraphQLErrorShown[]) {
    super(errors.map(({ message }) => message).join('\n') || 'The server answered with neither data nor an error.')
    this.name = 'HoldpointError'
    this.code = errors[0]?.extensions?.code ?? 'INTERNAL_SERVER_ERROR'
    this.field = errors[0]?.extensions?.field
  }
}

interface Result<Data> {
  readonly data?: Data | null
  readonly errors?: readonly unknown[] | undefined
}

/** A result with any error counts as a failure, because none of the documents here can use a partial answer. */
function dataOf<Data>({ data, errors }: Result<Data>): Data {
  if (errors?.length || data === undefined || data === null)
    throw new HoldpointError((errors ?? []) as GraphQLErrorShown[])
  return data
}

export function createClient(options: ClientOptions): Client {
  const { url = 'http://localhost/graphql', key, socket } = options
  const connection = createConnectionState()
  socket?.on?.('connected', () => connection.opened())

  async function post(body: object, accept: string, signal?: AbortSignal): Promise<Response> {
    const secret = typeof key === 'function' ? await key() : key
    return (options.fetch ?? globalThis.fetch)(url, {
      method: 'POST',
      headers: { accept, 'content-type': 'application/json', ...(secret && { authorization: `Bearer ${secret}` }) },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
  }

  function subscribeByEvents<Data>(query: string, variables: unknown, sink: Sink<Data>): () => void {
    const abort = new AbortController()
    const read = async (): Promise<void> => {
      const response = await post({ query, variables }, 'text/event-stream, application/json', abort.signal)
      if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
        return void dataOf(await readJson(response))
      connection.opened()
      for await (const result of readEventStream(response)) {
        // Several results may have arrived together, and the first may have ended the subscription.
        if (abort.signal.aborted) return
        sink.next(dataOf(result as Result<Data>))
      }
      if (!abort.signal.aborted) sink.complete()
    }
    read().catch((error: unknown) => {
      if (!abort.signal.aborted) sink.error(error)
    })
    return () => abort.abort()
  }

  function subscribeBySocket<Data>(query: string, variables: unknown, sink: Sink<Data>): () => void {
    let isOver = false
    const end = (last: () => void): void => {
      if (isOver) return
      isOver = true
      last()
    }
    const stop = socket!.subscribe(
      { query, variables: variables as Record<string, unknown> },
      {
        next(result) {
          if (isOver) return
          try {
            connection.opened()
            sink.next(dataOf(result as Result<Data>))
          } catch (error) {
            end(() => sink.error(error))
            stop()
          }
        },
        error: (error) => end(() => sink.error(refusalIn(error) ?? error)),
        complete: () => end(() => sink.complete()),
      },
    )
    return () => end(stop)
  }

  return {
    connection,
    async request<Data, Variables>(
      query: TypedDocument<Data, Variables>,
      variables: Variables,
      { signal }: { readonly signal?: AbortSignal } = {},
    ): Promise<Data> {
      const response = await post({ query, variables }, 'application/graphql-response+json', signal)
      return dataOf((await readJson(response)) as Result<Data>)
    },
    subscribe: socket ? subscribeBySocket : subscribeByEvents,
  }
}

/** The server's reason for refusing the subscription or the whole socket. Undefined if the connection was lost. */
function refusalIn(error: unknown): HoldpointError | undefined {
  if (Array.isArray(error)) return new HoldpointError(error as GraphQLErrorShown[])
  const { code } = (error ?? {}) as { readonly code?: unknown }
  // After 4403, an expired token, the next attempt uses a new one. If there is none, that attempt gets 4401.
  if (code !== 4401) return undefined
  return new HoldpointError([{ message: 'The key is not valid.', extensions: { code: 'UNAUTHENTICATED' } }])
}

async function readJson(response: Response): Promise<Result<unknown>> {
  if (!response.headers.get('content-type')?.includes('json')) {
    throw new Error(`The server answered with status ${response.status} and no JSON.`)
  }
  return (await response.json()) as Result<unknown>
}
