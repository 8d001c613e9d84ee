/** The operations, as plain text. Every client library takes them (Apollo Client through its `gql`). */
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
      runId
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

/**
 * The events of `runEvents` above: a delta, or an entry of the run's log, which has a `seq`. `conversationEvents` sends
 * the same events for one run after another.
 */
export type RunEvent = TextDelta | (RunEntry & EventBase & { readonly seq: number })

interface EventBase {
  readonly cursor: string
  readonly runId: string
}

export interface TextDelta extends EventBase {
  readonly __typename: 'TextDelta'
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

/** What the model said in a run or a conversation, built from its events. */
export interface Transcript {
  /** The cursor of the last event that changed something. Resubscribe with it. */
  readonly cursor: string | undefined
  /** False if the event changed nothing: libraries repeat events, and resubscribe with old variables. */
  apply(event: RunEvent): boolean
  text(): string
}

const endedStatuses = ['COMPLETED', 'FAILED', 'CANCELLED']

/**
 * Events of several runs may be mixed, as long as each run's own events stay in order. Every run numbers its entries
 * from 1, so a `seq` means nothing without its `runId`.
 */
export function createTranscript(): Transcript {
  /** The assistant's messages, in the order in which they were begun. */
  const messages = new Map<string, { readonly runId: string; readonly text: string; readonly isStored: boolean }>()
  /** Messages that were streamed and never stored. Repeats of their deltas are ignored. */
  const voided = new Set<string>()
  const lastSeq = new Map<string, number>()
  let cursor: string | undefined

  function applyDelta({ runId, kind, messageId, offset, text }: TextDelta): boolean {
    const known = messages.get(messageId)
    const before = known?.text ?? ''
    if (kind !== 'ASSISTANT' || known?.isStored || voided.has(messageId)) return false
    if (offset > before.length || offset + text.length <= before.length) return false
    messages.set(messageId, { runId, text: before.slice(0, offset) + text, isStored: false })
    return true
  }

  function applyEntry(event: Exclude<RunEvent, TextDelta>): boolean {
    const { runId, seq } = event
    if (seq <= (lastSeq.get(runId) ?? 0)) return false
    lastSeq.set(runId, seq)
    if (event.__typename === 'MessageAdded' && event.message.__typename === 'AssistantMessage') {
      messages.set(event.message.id, { runId, text: event.message.text ?? '', isStored: true })
    }
    const isEnd = event.__typename === 'RunStatusChanged' && endedStatuses.includes(event.status)
    if (isEnd || event.__typename === 'StepRestarted' || event.__typename === 'StepFinished') dropUnstored(runId)
    return true
  }

  /** What the run has streamed but not stored by now will never be stored. */
  function dropUnstored(runId: string): void {
    for (const [id, message] of messages) {
      if (message.runId !== runId || message.isStored) continue
      messages.delete(id)
      voided.add(id)
    }
  }

  return {
    get cursor() {
      return cursor
    },
    apply(event) {
      const isChanged = event.__typename === 'TextDelta' ? applyDelta(event) : applyEntry(event)
      if (isChanged) cursor = event.cursor
      return isChanged
    },
    text: () => [...messages.values()].map(({ text }) => text).join('\n'),
  }
}
