/** A failure that the provider reports inside its stream. Has the shape of the SDK's errors. */
class ReportedError extends Error {
  readonly error: unknown

  constructor(error: unknown) {
    super(typeof error === 'string' ? error : JSON.stringify(error))
    this.error = error
  }
}

/**
 * The JSON in a response's server-sent events, up to `[DONE]`. The SDK's own stream passes each event through four
 * generators, and closes the connection if the end of the response comes a moment after `[DONE]`, so that the next
 * request needs a new one.
 */
export class EventStream<Event> implements AsyncIterableIterator<Event> {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  readonly #decoder = new TextDecoder()
  /** The events of the last chunk, and how many of them were delivered. */
  #events: Event[] = []
  #delivered = 0
  #line = ''
  #data: string[] = []
  #name = ''
  #isOver: boolean
  /** Thrown after the events that came before it. */
  #failure: { readonly error: unknown } | undefined

  constructor({ body }: Response) {
    this.#reader = body?.getReader()
    this.#isOver = !body
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Event>> {
    const value = this.#events[this.#delivered]
    if (value === undefined) return this.#readMore()
    this.#delivered += 1
    return Promise.resolve({ value, done: false })
  }

  return(): Promise<IteratorResult<Event>> {
    this.#isOver = true
    void this.#readToEnd()
    return Promise.resolve({ value: undefined, done: true })
  }

  async #readMore(): Promise<IteratorResult<Event>> {
    this.#events = []
    this.#delivered = 0
    while (this.#reader && !this.#isOver && this.#events.length === 0) {
      const { done, value } = await this.#reader.read()
      // A server may leave out the blank line after its last event.
      this.#parse(done ? `${this.#decoder.decode()}\n\n` : this.#decoder.decode(value, { stream: true }))
      if (done) this.#isOver = true
    }
    if (this.#events.length > 0) return this.next()
    if (this.#failure) throw this.#failure.error
    return { value: undefined, done: true }
  }

  #parse(text: string): void {
    const all = this.#line + text
    const lines = all.split(all.includes('\r') ? /\r\n|\n|\r/ : '\n')
    this.#line = lines.pop() ?? ''
    for (const line of lines) {
      if (this.#isOver) return
      if (line !== '') this.#readField(line)
      else if (this.#data.length > 0) this.#readEvent()
    }
  }

  #readField(line: string): void {
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') this.#data.push(value)
    else if (name === 'event') this.#name = value
  }

  #readEvent(): void {
    const text = this.#data.join('\n')
    const isError = this.#name === 'error'
    this.#data = []
    this.#name = ''
    if (text === '[DONE]') {
      this.#isOver = true
      void this.#readToEnd()
      return
    }
    try {
      const event = JSON.parse(text) as Event & { readonly error?: unknown }
      const error = event?.error || (isError && event)
      if (error) throw new ReportedError(error)
      this.#events.push(event)
    } catch (error) {
      this.#failure = { error }
      this.#isOver = true
    }
  }

  /** Only a connection whose response was read to its end is used again. Whoever made the request aborts it in time. */
  async #readToEnd(): Promise<void> {
    try {
      while (this.#reader && !(await this.#reader.read()).done);
    } catch {
      // It was aborted, or broke after everything had arrived.
    }
  }
}
