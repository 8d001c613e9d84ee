import { createClient } from 'graphql-ws'

import { dim, endLine, green, print, red, type } from './demo-screen.ts'

/** A client as anyone could write it: `fetch` for operations, one WebSocket for subscriptions. */
export interface DemoClient {
  ask(operation: string, variables?: object): Promise<any>
  /** Prints what happens in a run until it pauses or ends. Returns the run, and what was said in it. */
  show(runId: string, options?: ShowOptions): Promise<any>
  /** Closes the connection. The next `show` opens another. */
  disconnect(): Promise<void>
}

export interface ShowOptions {
  /** Called with everything said so far. Return false to stop watching. */
  readonly onText?: (said: string) => Promise<boolean | void>
}

const events = `subscription ($runId: ID!, $after: EventCursor) { runEvents(runId: $runId, after: $after) { __typename cursor
  ... on RunStatusChanged { status stopReason }
  ... on TextDelta { offset text }
  ... on MessageAdded { message { __typename ... on AssistantMessage { interrupted } } }
  ... on ToolCallChanged { toolCallStatus toolCall { name result { output } } } } }`

export const runFields = `id status stopReason answer pendingToolCalls { id name arguments }`

export function createDemoClient(url: string): DemoClient {
  const connect = () => createClient({ url: url.replace(/^http/, 'ws'), lazy: true })
  let socket = connect()
  /** The cursor of each run. */
  const seen = new Map<string, { cursor: string; said: string }>()

  const client: DemoClient = {
    async ask(operation, variables = {}) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query: operation, variables }),
      })
      const { data, errors } = (await response.json()) as { data: any; errors?: { message: string }[] }
      if (errors) throw new Error(errors.map((error) => error.message).join('\n'))
      return data
    },
    async show(runId, { onText } = {}) {
      const before = seen.get(runId)
      let said = before?.said ?? ''
      const variables = { runId, after: before?.cursor }
      for await (const { data, errors } of socket.iterate<any>({ query: events, variables })) {
        if (!data) throw new Error(errors!.map((error) => error.message).join('\n'))
        const event = data.runEvents
        if (event.__typename === 'TextDelta') said = said.slice(0, event.offset) + event.text
        seen.set(runId, { cursor: event.cursor, said })
        printEvent(event)
        if (event.__typename === 'TextDelta' && (await onText?.(said)) === false) return undefined
        if (event.status === 'AWAITING_APPROVAL') break
      }
      endLine()
      const { run } = await client.ask(`query ($id: ID!) { run(id: $id) { ${runFields} } }`, { id: runId })
      return { ...run, said }
    },
    async disconnect() {
      await socket.dispose()
      socket = connect()
    },
  }
  return client
}

function printEvent(event: any): void {
  switch (event.__typename) {
    case 'TextDelta':
      return type(event.text, event.offset)
    case 'MessageAdded':
      return endLine()
    case 'RunStatusChanged':
      if (event.status === 'CANCELLED') print(red('        ■ cancelled'))
      return
    case 'ToolCallChanged': {
      const { toolCall, toolCallStatus } = event
      if (toolCallStatus === 'SUCCEEDED') print(green(`        ✓ ${toolCall.name}: `) + dim(toolCall.result.output))
      if (toolCallStatus === 'DENIED') print(red(`        ✗ ${toolCall.name}: denied`))
    }
  }
}
