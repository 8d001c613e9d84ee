import { createClient } from 'graphql-ws'

/** A client as anyone could write it: `fetch` for what is asked, one WebSocket for what is watched. */
export interface DemoClient {
  ask(operation: string, variables?: object): Promise<any>
  /** Prints what happens in a run as it happens, until it pauses or ends, and gives the run as it is then. */
  show(runId: string, options?: { readonly onText?: (text: string) => void }): Promise<any>
  close(): Promise<void>
}

const events = `subscription ($runId: ID!, $after: EventCursor) { runEvents(runId: $runId, after: $after) { __typename cursor
  ... on RunStatusChanged { status stopReason }
  ... on TextDelta { kind text }
  ... on ToolCallChanged { toolCallStatus toolCall { name result { output } } }
  ... on MessageAdded { message { __typename ... on UserMessage { text } ... on AssistantMessage { text interrupted } } } } }`

export const runFields = `id status stopReason answer
  pendingToolCalls { id name needs arguments }`

export function createDemoClient(url: string): DemoClient {
  const socket = createClient({ url: url.replace(/^http/, 'ws'), lazy: true })
  /** Where each run was left: the next look at it goes on from there. */
  const cursors = new Map<string, string>()

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
    async show(runId, { onText = () => undefined } = {}) {
      const print = createPrinter()
      const variables = { runId, after: cursors.get(runId) }
      for await (const { data } of socket.iterate<any>({ query: events, variables })) {
        const event = data!.runEvents
        cursors.set(runId, event.cursor)
        print(event)
        if (event.__typename === 'TextDelta') onText(event.text)
        if (event.status === 'AWAITING_APPROVAL') break
      }
      return (await client.ask(`query ($id: ID!) { run(id: $id) { ${runFields} } }`, { id: runId })).run
    },
    async close() {
      await socket.dispose()
    },
  }
  return client
}

const color = (code: number, text: string) => (process.stdout.isTTY ? `\u001b[${code}m${text}\u001b[0m` : text)
export const dim = (text: string) => color(2, text)
export const bold = (text: string) => color(1, text)

/** One line per event; the words of the model in one line as they come. */
function createPrinter() {
  let writing = false
  const line = (name: string, text: string) => {
    if (writing) process.stdout.write('\n')
    writing = false
    console.log(`  ${dim(name.padEnd(17))} ${text}`)
  }
  return (event: any): void => {
    switch (event.__typename) {
      case 'TextDelta':
        if (!writing) process.stdout.write(`  ${dim('TextDelta'.padEnd(17))} `)
        writing = true
        process.stdout.write(event.text)
        return
      case 'RunStatusChanged':
        return line('RunStatusChanged', bold(event.status) + (event.stopReason ? dim(` ${event.stopReason}`) : ''))
      case 'ToolCallChanged': {
        const { name, result } = event.toolCall
        const over = ['SUCCEEDED', 'FAILED', 'DENIED', 'CANCELLED'].includes(event.toolCallStatus)
        return line('ToolCallChanged', `${name} ${event.toolCallStatus}${over ? dim(` ${result.output}`) : ''}`)
      }
      case 'MessageAdded': {
        const { __typename, text, interrupted } = event.message
        return line(
          'MessageAdded',
          `${__typename}${text ? dim(` ${firstLine(text)}`) : ''}${interrupted ? ' (interrupted)' : ''}`,
        )
      }
    }
  }
}

function firstLine(text: string): string {
  const [first = '', ...rest] = text.split('\n')
  return rest.length > 0 ? `${first} …` : first
}
