/** The operations. They are plain text, which every client takes (Apollo Client by way of its `gql`). */
export const upsertTool = /* GraphQL */ `
  mutation UpsertTool($input: UpsertToolInput!) {
    upsertTool(input: $input) {
      tool {
        id
      }
    }
  }
`

export const createAgent = /* GraphQL */ `
  mutation CreateAgent($input: CreateAgentInput!) {
    createAgent(input: $input) {
      agent {
        id
      }
    }
  }
`

export const sendMessage = /* GraphQL */ `
  mutation SendMessage($input: SendMessageInput!) {
    sendMessage(input: $input) {
      __typename
      ... on SendMessageSuccess {
        run {
          id
        }
      }
      ... on Refusal {
        message
      }
    }
  }
`

export const submitApprovals = /* GraphQL */ `
  mutation SubmitApprovals($input: SubmitApprovalsInput!) {
    submitApprovals(input: $input) {
      __typename
      ... on SubmitApprovalsSuccess {
        run {
          id
          status
        }
      }
      ... on Refusal {
        message
      }
    }
  }
`

export const storedRun = /* GraphQL */ `
  query StoredRun($id: ID!) {
    run(id: $id) {
      id
      status
      messages {
        nodes {
          id
          ... on AssistantMessage {
            text
          }
        }
      }
    }
  }
`

export const runEvents = /* GraphQL */ `
  subscription RunEvents($runId: ID!, $after: EventCursor) {
    runEvents(runId: $runId, after: $after) {
      __typename
      cursor
      ... on RunEntry {
        seq
      }
      ... on TextDelta {
        kind
        messageId
        offset
        text
      }
      ... on MessageAdded {
        message {
          __typename
          id
          ... on AssistantMessage {
            text
          }
        }
      }
      ... on ToolCallChanged {
        toolCallStatus
        toolCall {
          id
          name
          arguments
          result {
            output
          }
        }
      }
      ... on RunStatusChanged {
        status
        stopReason
      }
    }
  }
`

/** What `runEvents` above sends: a delta, or an entry of the run's log, which has a `seq`. */
export type RunEvent = TextDelta | (RunEntry & { readonly seq: number; readonly cursor: string })

export interface TextDelta {
  readonly __typename: 'TextDelta'
  readonly cursor: string
  readonly kind: 'ASSISTANT' | 'REASONING'
  readonly messageId: string
  readonly offset: number
  readonly text: string
}

type RunEntry =
  | { readonly __typename: 'MessageAdded'; readonly message: { __typename: string; id: string; text?: string } }
  | { readonly __typename: 'ToolCallChanged'; readonly toolCallStatus: string; readonly toolCall: ToolCall }
  | { readonly __typename: 'RunStatusChanged'; readonly status: string; readonly stopReason: string | null }
  | { readonly __typename: 'StepRestarted' | 'StepStarted' | 'StepFinished' }

export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
  readonly result: { readonly output: string } | null
}

/** What the model said in a run, put together from the run's events. */
export interface Transcript {
  /** Of the last event: what to resubscribe with. */
  readonly cursor: string | undefined
  /** False for what was there already: libraries repeat events, and resubscribe with old variables. */
  apply(event: RunEvent): boolean
  text(): string
}

const ended = ['COMPLETED', 'FAILED', 'CANCELLED']

export function createTranscript(): Transcript {
  /** By message, in the order in which they were begun. */
  const texts = new Map<string, string>()
  const stored = new Set<string>()
  let seq = 0
  let cursor: string | undefined

  /** What was streamed and has not been stored by now will not come. */
  function dropVoid(): void {
    for (const id of texts.keys()) if (!stored.has(id)) texts.delete(id)
  }

  function applyDelta({ kind, messageId, offset, text }: TextDelta): boolean {
    const known = texts.get(messageId) ?? ''
    if (kind !== 'ASSISTANT' || stored.has(messageId) || offset + text.length <= known.length) return false
    texts.set(messageId, known.slice(0, offset) + text)
    return true
  }

  return {
    get cursor() {
      return cursor
    },
    apply(event) {
      if (event.__typename !== 'TextDelta' && event.seq <= seq) return false
      cursor = event.cursor
      if (event.__typename === 'TextDelta') return applyDelta(event)
      seq = event.seq
      if (event.__typename === 'MessageAdded' && event.message.__typename === 'AssistantMessage') {
        texts.set(event.message.id, event.message.text ?? '')
        stored.add(event.message.id)
      }
      const isEnd = event.__typename === 'RunStatusChanged' && ended.includes(event.status)
      if (isEnd || event.__typename === 'StepRestarted' || event.__typename === 'StepFinished') dropVoid()
      return true
    },
    text: () => [...texts.values()].join('\n'),
  }
}
