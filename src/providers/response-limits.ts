import { noLongerNeeded } from '../util/abort.ts'

/** A provider's response was cut off because it exceeded a limit. The message is for the run's owner. */
export class ResponseTooLargeError extends Error {}

const megabyte = 1024 ** 2
/** The whole response after decompression. A long answer takes a few hundred bytes per token. */
const maxBytes = 128 * megabyte
/** One event of a stream, or a body without events. The last event of a response may repeat the whole answer. */
const maxEventBytes = 16 * megabyte
const maxErrorBytes = megabyte
const newline = 10
const carriageReturn = 13

/**
 * The response with a limited body. A stream of events is passed on in complete events: an SDK may copy an incomplete
 * event with every chunk that is added to it.
 */
export function limitResponse(response: Response): Response {
  if (!response.body) return response
  const { status, statusText } = response
  const body = throughLimit(response.body, limitOf(response))
  const headers = new Headers(response.headers)
  // fetch has decompressed the body, so these headers no longer apply.
  headers.delete('content-encoding')
  headers.delete('content-length')
  return new Response(body, { status, statusText, headers })
}

interface Limit {
  /** Counts a chunk, and returns what may be passed on now. Throws ResponseTooLargeError. */
  pass(chunk: Uint8Array): Uint8Array | undefined
  /** What is left when the body ends. */
  rest(): Uint8Array | undefined
}

/** Reads only when it is read. A TransformStream would do the same with four times as many promises per chunk. */
function throughLimit(body: ReadableStream<Uint8Array>, limit: Limit): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    for (;;) {
      const { done, value } = await reader.read()
      const passed = done ? limit.rest() : limit.pass(value)
      if (passed) controller.enqueue(passed)
      if (done) return controller.close()
      if (passed) return
    }
  }
  return new ReadableStream(
    {
      pull: (controller) =>
        pull(controller).catch((error: unknown) => {
          reader.cancel(error).catch(() => undefined)
          throw error
        }),
      // Without a reason, fetch makes one with a stack trace.
      cancel: (reason: unknown) => reader.cancel(reason ?? noLongerNeeded),
    },
    { highWaterMark: 0 },
  )
}

function limitOf({ ok, headers }: Response): Limit {
  if (!ok) return atMost(maxErrorBytes, 'an error response')
  // Amazon's events are binary and contain their length.
  const isBinary = headers.get('content-type')?.includes('amazon.eventstream')
  return isBinary ? atMost(maxBytes, 'a response') : wholeEvents()
}

function atMost(limit: number, what: string): Limit {
  let left = limit
  return {
    pass(chunk) {
      left -= chunk.length
      if (left < 0) throw new ResponseTooLargeError(tooLarge(what, limit))
      return chunk
    },
    rest: () => undefined,
  }
}

function wholeEvents(): Limit {
  const all = atMost(maxBytes, 'a response')
  const pending = new PendingBytes()
  const boundary = new EventBoundary()
  return {
    pass(chunk) {
      all.pass(chunk)
      const end = boundary.endIn(chunk)
      // Most chunks are complete events.
      if (end === chunk.length && pending.length === 0) return chunk
      pending.add(chunk.subarray(0, end))
      const whole = end > 0 ? pending.take() : undefined
      pending.add(chunk.subarray(end))
      if (pending.length > maxEventBytes) throw new ResponseTooLargeError(tooLarge('an event', maxEventBytes))
      return whole
    },
    rest: () => (pending.length > 0 ? pending.take() : undefined),
  }
}

/** Finds the blank lines that end events, in text that comes in chunks. */
class EventBoundary {
  #lineIsEmpty = true

  /** The end of the last event that this chunk completes, including its blank line. 0 if it completes none. */
  endIn(chunk: Uint8Array): number {
    let end = 0
    let start = 0
    for (let place = chunk.indexOf(newline); place !== -1; place = chunk.indexOf(newline, start)) {
      if (this.#lineIsEmpty && isBlank(chunk, start, place)) end = place + 1
      this.#lineIsEmpty = true
      start = place + 1
    }
    if (!isBlank(chunk, start, chunk.length)) this.#lineIsEmpty = false
    return end
  }
}

function isBlank(chunk: Uint8Array, start: number, end: number): boolean {
  return start === end || (start + 1 === end && chunk[start] === carriageReturn)
}

/**
 * Bytes of an event that is not complete yet. The buffer doubles its size, so that adding takes linear time in total.
 */
class PendingBytes {
  #room = Buffer.alloc(0)
  length = 0

  add(bytes: Uint8Array): void {
    const needed = this.length + bytes.length
    if (needed > this.#room.length) {
      const room = Buffer.allocUnsafe(Math.max(needed, 2 * this.#room.length))
      this.#room.copy(room, 0, 0, this.length)
      this.#room = room
    }
    this.#room.set(bytes, this.length)
    this.length = needed
  }

  take(): Uint8Array {
    const taken = this.#room.subarray(0, this.length)
    this.#room = Buffer.alloc(0)
    this.length = 0
    return taken
  }
}

function tooLarge(what: string, limit: number): string {
  return `The limit for ${what} is ${limit / megabyte} MB.`
}
