import { HoldpointError, type Client, type Sink } from './client.ts'
import type { TypedDocument } from './typed-document.ts'

export interface KeepSubscribedOptions<Data, Variables> {
  readonly document: TypedDocument<Data, Variables>
  /** Called before every attempt, so that a new connection starts where the last one ended. */
  readonly variables: () => Variables
  readonly next: (data: Data) => void
  /** The server has ended the stream. */
  readonly complete?: () => void
  /** Called if the server refuses and would refuse again. Not called for a lost connection: attempts continue then. */
  readonly refused: (error: HoldpointError) => void
}

/** Codes after which the server may accept the same request later. */
const passing = ['UNAVAILABLE', 'TIMEOUT', 'RATE_LIMITED', 'TOO_MANY_OPERATIONS', 'INTERNAL_SERVER_ERROR']

/** Whether the same request will be refused again. */
export function isFinal(error: unknown): error is HoldpointError {
  return error instanceof HoldpointError && !passing.includes(error.code)
}

/** Subscribes, and subscribes again whenever the connection is lost, until the returned function is called. */
export function keepSubscribed<Data, Variables>(
  client: Client,
  { document, variables, next, complete, refused }: KeepSubscribedOptions<Data, Variables>,
): () => void {
  let end: () => void = () => {}
  let timer: ReturnType<typeof setTimeout> | undefined
  let failures = 0
  let isStopped = false

  const sink: Sink<Data> = {
    next(data) {
      failures = 0
      next(data)
    },
    error(error) {
      if (isStopped) return
      if (isFinal(error)) return refused(error)
      client.connection.lost()
      timer = setTimeout(open, delayMs(failures++))
    },
    complete() {
      if (!isStopped) complete?.()
    },
  }

  function open(): void {
    timer = undefined
    end = client.subscribe(document, variables(), sink)
  }

  /** Tries at once when a laptop wakes up or the network is back, instead of waiting for a long delay to pass. */
  function hurry(): void {
    if (timer === undefined) return
    clearTimeout(timer)
    open()
  }

  const target = (globalThis as { addEventListener?: unknown }).addEventListener
    ? (globalThis as unknown as EventTarget)
    : undefined
  target?.addEventListener('online', hurry)
  open()
  return () => {
    isStopped = true
    clearTimeout(timer)
    target?.removeEventListener('online', hurry)
    end()
  }
}

/**
 * Immediately, then after 0.25 s, doubling up to 5 s. Each delay varies by half, so that a thousand clients do not
 * return at the same moment.
 */
function delayMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(125 * 2 ** failures, 5_000) * (0.5 + Math.random() / 2)
}
