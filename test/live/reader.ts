import type { GraphQLClient, WebSocketClient } from '../support/graphql-client.ts'

export const eventFields = `__typename cursor ... on RunEvent { runId } ... on RunEntry { seq }
  ... on RunStatusChanged { status }
  ... on StepStarted { stepId } ... on StepRestarted { stepId attempt } ... on StepFinished { step { id } }
  ... on TextDelta { messageId stepId kind offset text }
  ... on ToolCallDelta { toolCallId stepId name offset argumentsText }
  ... on ToolCallChanged { toolCallStatus toolCall { id } }
  ... on MessageAdded { message { __typename id
    ... on AssistantMessage { text interrupted } ... on ReasoningMessage { text } ... on UserMessage { text }
    ... on ToolCallMessage { toolCalls { id argumentsText } }
    ... on ApprovalRequestMessage { toolCalls { id argumentsText } } } }`

const document = `subscription ($run: ID!, $after: EventCursor, $deltas: Boolean! = true) {
  runEvents(runId: $run, after: $after, deltas: $deltas) { ${eventFields} } }`

const ended = ['COMPLETED', 'FAILED', 'CANCELLED']

/**
 * A client as the contract describes it: it applies events one by one, keeps only the result, and resumes at the cursor
 * of the last one. It throws if an event does not fit the previous ones.
 */
export class Reader {
  /** Text that is being written, by the id of its message or call. */
  readonly live = new Map<string, string>()
  /** Texts of stored messages and calls, in order. */
  readonly stored: [id: string, text: string][] = []
  readonly types: string[] = []
  readonly deltas: string[] = []
  cursor: string | undefined
  seq = 0
  /** The status with which the run ended. Undefined before the end. */
  end: string | undefined

  apply(event: any): void {
    if (this.end !== undefined) throw new Error(`${event.__typename} came after the end`)
    this.cursor = event.cursor
    this.types.push(event.__typename)
    if (event.seq !== undefined) {
      if (event.seq !== this.seq + 1) throw new Error(`entry ${event.seq} came after ${this.seq}`)
      this.seq = event.seq
    }
    switch (event.__typename) {
      case 'TextDelta':
        return this.#write(event.messageId, event.offset, event.text)
      case 'ToolCallDelta':
        return this.#write(event.toolCallId, event.offset, event.argumentsText)
      case 'MessageAdded':
        for (const [id, text] of textsOf(event.message)) this.#store(id, text)
        return
      case 'StepRestarted':
      case 'StepFinished':
        return this.live.clear()
      case 'RunStatusChanged':
        if (!ended.includes(event.status)) return
        this.live.clear()
        this.end = event.status
    }
  }

  /** The run was retried: more events may follow its end. */
  reopen(): void {
    this.end = undefined
  }

  #write(id: string, offset: number, text: string): void {
    const known = this.live.get(id) ?? ''
    if (offset !== known.length) throw new Error(`a delta at ${offset} came to a text of ${known.length}`)
    if (text === '' || !text.isWellFormed()) throw new Error(`a delta has the text ${JSON.stringify(text)}`)
    this.live.set(id, known + text)
    this.deltas.push(text)
  }

  #store(id: string, text: string): void {
    const built = this.live.get(id)
    if (built !== undefined && built !== text) {
      throw new Error(`deltas built ${JSON.stringify(built)}, and stored was ${JSON.stringify(text)}`)
    }
    this.live.delete(id)
    this.stored.push([id, text])
  }
}

/** The texts of a message: its own, or the arguments of its calls. */
export function textsOf(message: any): [id: string, text: string][] {
  if (message.toolCalls) return message.toolCalls.map((call: any) => [call.id, call.argumentsText])
  return [[message.id, message.text ?? '']]
}

/** What the messages query shows, in the shape of `Reader.stored`. */
export async function storedTexts(client: GraphQLClient, runId: string): Promise<[string, string][]> {
  const { run } = await client.data(
    `query ($id: ID!) { run(id: $id) { messages(first: 200) { nodes { __typename id
      ... on AssistantMessage { text } ... on ReasoningMessage { text } ... on UserMessage { text }
      ... on ToolCallMessage { toolCalls { id argumentsText } }
      ... on ApprovalRequestMessage { toolCalls { id argumentsText } } } } } }`,
    { id: runId },
  )
  return run.messages.nodes.flatMap(textsOf)
}

export interface OpenStream {
  readonly socket: WebSocketClient
  /** The next event. Undefined at the end. */
  next(): Promise<any>
  close(): Promise<void>
  /** Breaks the connection without a closing handshake. */
  cut(): Promise<void>
}

export function openRunEvents(
  client: GraphQLClient,
  variables: { readonly run: string; readonly after?: string | undefined; readonly deltas?: boolean },
): OpenStream {
  const socket = client.webSocket()
  const opened = new Promise<void>((resolve) => socket.client.on('opened', () => resolve()))
  const stream = socket.stream(document, variables)
  return {
    socket,
    async next() {
      const result = await stream.next()
      if (result?.errors) throw new Error(`${result.errors[0]!.extensions.code}: ${result.errors[0]!.message}`)
      return result?.data.runEvents
    },
    async close() {
      await stream.close()
      await socket.dispose()
    },
    async cut() {
      await opened
      socket.client.terminate()
      await socket.dispose()
    },
  }
}

/** Applies events until `fits` returns true, or to the end. */
export async function readUntil(stream: OpenStream, reader: Reader, fits: (reader: Reader) => boolean): Promise<void> {
  while (!fits(reader)) {
    const event = await stream.next()
    if (event === undefined) return
    reader.apply(event)
  }
}

export async function readToEnd(client: GraphQLClient, runId: string, reader = new Reader()): Promise<Reader> {
  const stream = openRunEvents(client, { run: runId, after: reader.cursor })
  await readUntil(stream, reader, () => false)
  await stream.close()
  return reader
}
