import { ClientError, statusOf, toClientError } from '../graphql/errors.ts'
import { withLogIds } from '../util/log-context.ts'
import { parseTraceparent, withTrace } from '../util/trace-context.ts'
import type { Answer } from './answer.ts'
import type { Fetch } from './handlers.ts'
import { securityHeaders } from './pages/pages.ts'
import { isStream } from './streams/event-streams.ts'
import { requestIdOf } from './request-id.ts'
import type { ServerContext, Transport } from './transport.ts'
import type { Yoga } from './yoga.ts'

/** The rules are those of requests over HTTP: keys, limits, and which pages may use the API. */
export function createFetch<Viewer>(
  { origins, log }: Transport<Viewer>,
  yoga: Yoga<Viewer>,
  isClosing: () => boolean,
): Fetch {
  async function respond(request: Request, answer: FetchAnswer): Promise<Response> {
    if (isClosing()) throw new ClientError('UNAVAILABLE', 'The server stops.')
    const { pathname, host } = new URL(request.url)
    if (pathname !== '/graphql') throw new ClientError('NOT_FOUND', 'There is nothing here. GraphQL is at /graphql.')
    // As over HTTP. A request that a program passes on has this header already.
    if (!request.headers.has('host')) request.headers.set('host', host)
    const refusal = origins.refusalOf(Object.fromEntries(request.headers))
    if (refusal !== undefined) throw new ClientError('FORBIDDEN', refusal)
    // Yoga cannot limit the size of a body of Node's own `Request`.
    const { method, headers, signal, body } = request
    const init = { method, headers, signal, ...(body && { body, duplex: 'half' }) } as RequestInit
    return yoga.handleRequest(new yoga.fetchAPI.Request(request.url, init), {
      answer,
    } as unknown as ServerContext<Viewer>)
  }

  return async (input, init) => {
    const request = new Request(input, init)
    request.signal.throwIfAborted()
    const answer = new FetchAnswer(request.signal)
    const requestId = requestIdOf(request.headers.get('x-request-id'))
    const trace = parseTraceparent(request.headers.get('traceparent') ?? undefined)
    const headers = { ...securityHeaders, 'x-request-id': requestId }
    const responding = withLogIds(log, { requestId }, () => withTrace(trace, () => respond(request, answer)))
    return answer.send(
      responding.catch((error: unknown) => responseOf(toClientError(error, log))),
      headers,
    )
  }
}

/** An error as the answer to a whole request. */
export function responseOf(error: ClientError): Response {
  const { status, headers = {} } = statusOf(error)
  const type = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }
  return new Response(JSON.stringify({ errors: [error] }), { status, headers: { ...headers, ...type } })
}

/** An answer that its reader pulls. It is over when it was read to its end, cancelled, aborted or cut. */
class FetchAnswer implements Answer {
  isOver = false
  readonly #listeners: (() => void)[] = []
  readonly #cut = Promise.withResolvers<never>()
  #error: ClientError | undefined
  readonly #signal: AbortSignal
  readonly #onAbort = () => this.#fail(this.#signal.reason)

  constructor(signal: AbortSignal) {
    this.#signal = signal
    this.#cut.promise.catch(() => undefined)
    signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  onceOver(listener: () => void): void {
    this.#listeners.push(listener)
  }

  end(error?: ClientError): void {
    this.#error = error
    this.#fail(error ?? new TypeError('The server has ended the answer.'))
  }

  async send(responding: Promise<Response>, headers: Readonly<Record<string, string>>): Promise<Response> {
    const given = await Promise.race([responding, this.#cut.promise]).catch((error: unknown) => {
      responding.then(({ body }) => body && this.#pass(body).cancel()).catch(() => undefined)
      if (this.#error && error === this.#error) return responseOf(this.#error)
      throw error
    })
    for (const [name, value] of Object.entries(headers)) given.headers.set(name, value)
    const { status, statusText } = given
    const init = { status, statusText, headers: Object.fromEntries(given.headers) }
    if (isStream(given)) {
      return new Response(given.body && this.#pass(given.body), init)
    }
    const text = await given.text()
    this.#over()
    return new Response(text, init)
  }

  #pass(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    // Of Yoga's stream, this is what can be released while it is being read, but not before that.
    const chunks = body[Symbol.asyncIterator]()
    let first: ReturnType<typeof chunks.next> | undefined = chunks.next()
    const leave = () => {
      this.#over()
      chunks.return?.(undefined).catch(() => undefined)
    }
    return new ReadableStream(
      {
        start: (controller) => {
          this.#cut.promise.catch((reason: unknown) => {
            controller.error(reason)
            leave()
          })
        },
        pull: async (controller) => {
          const { done, value } = await (first ?? chunks.next())
          first = undefined
          if (this.isOver) return
          if (!done) return controller.enqueue(value)
          this.#over()
          controller.close()
        },
        cancel: leave,
      },
      { highWaterMark: 0 },
    )
  }

  #fail(reason: unknown): void {
    if (this.isOver) return
    this.#cut.reject(reason)
    this.#over()
  }

  #over(): void {
    if (this.isOver) return
    this.isOver = true
    this.#signal.removeEventListener('abort', this.#onAbort)
    for (const listener of this.#listeners) listener()
  }
}
