/** One tab of GraphiQL. The tab is named after its operation. */
export interface TourTab {
  readonly query: string
  readonly variables?: string
}

/** The product in the order in which one meets it. Each tab says where its ids come from. */
export const tour: readonly TourTab[] = [
  {
    query: `# Welcome to Holdpoint. The tabs above lead through it:
# create an agent, send it a message, watch the answer
# being written, give it a tool that needs approval,
# approve, cancel, list.
#
# Run a tab with Ctrl-Enter. All of it works with the
# model demo/scripted: no key, no network.
#
# Where the server has keys, give yours under "Headers":
#   { "Authorization": "Bearer hp_..." }

query Welcome {
  viewer {
    keyName
    scopes
  }
  models {
    handle
    contextWindow
  }
  agents(first: 10) {
    totalCount
    nodes {
      id
      name
      model
    }
  }
}
`,
  },
  {
    query: `# 1. An agent: a model with instructions, memory, tools.
# Copy the id from the answer (agent_...): the next tabs
# want it among their variables.

mutation CreateAgent($input: CreateAgentInput!) {
  createAgent(input: $input) {
    agent {
      id
      name
      model
      blocks {
        label
        value
      }
    }
  }
}
`,
    variables: json({
      input: {
        name: 'guide',
        model: 'demo/scripted',
        instructions: 'You are a patient guide.',
        blocks: [{ label: 'human', value: 'Curious, and new here.' }],
        includeBaseTools: false,
      },
    }),
  },
  {
    query: `# 2. A message starts a run. The answer comes at once,
# while the run goes on: copy the run's id (run_...) into
# the next tab while it still writes.
#
# demo/scripted does what the message says, by line:
#   say <text>             answers
#   think <text>           reasons
#   slow <ms>              waits before each token
#   call <tool> <json>     calls a tool
# Any other text it repeats in a sentence.

mutation SendMessage($agentId: ID!, $text: String!) {
  sendMessage(input: { to: { agentId: $agentId }, messages: [{ text: $text }] }) {
    __typename
    ... on SendMessageSuccess {
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
`,
    variables: json({
      agentId: 'agent_...',
      text: 'slow 300\nthink They would like to see tokens arrive.\nsay Every word of this sentence was stored before you could miss it.',
    }),
  },
  {
    query: `# 3. Watch it: the run's id is in SendMessage's answer.
# The stream starts at the beginning however late you
# come, and ends with the run; GraphiQL shows the latest
# event. To go on where you left off, pass the last
# cursor that you saw as "after".

subscription WatchRun($runId: ID!, $after: EventCursor) {
  runEvents(runId: $runId, after: $after) {
    __typename
    cursor
    ... on RunStatusChanged {
      status
      stopReason
    }
    ... on TextDelta {
      kind
      offset
      text
    }
    ... on ToolCallDelta {
      name
      argumentsText
    }
    ... on MessageAdded {
      message {
        __typename
        id
        ... on UserMessage {
          text
        }
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
      }
    }
  }
}
`,
    variables: json({ runId: 'run_...' }),
  },
  {
    query: `# 4. A tool that may not run before someone approves.
# Copy its id (tool_...) into the next tab.

mutation CreateTool($input: UpsertToolInput!) {
  upsertTool(input: $input) {
    tool {
      id
      name
      requiresApproval
    }
  }
}
`,
    variables: json({
      input: {
        name: 'send_invoice',
        description: 'Sends an invoice to a customer.',
        requiresApproval: true,
        parameters: {
          type: 'object',
          properties: { customer: { type: 'string' }, amount: { type: 'number' } },
          required: ['customer', 'amount'],
        },
        implementation: {
          javascript: {
            source: 'export default ({ customer, amount }) => `Sent ${customer} an invoice over ${amount}.`',
          },
        },
      },
    }),
  },
  {
    query: `# 5. Give it to the agent, and let it be called. The run
# stops at the call: it holds no worker, and waits for as
# long as it takes. Copy the ids of the run (run_...) and
# of the pending call (call_...) into the next tab.

mutation AskForApproval($agentId: ID!, $toolId: ID!, $text: String!) {
  attachTool(input: { agentId: $agentId, toolId: $toolId }) {
    agent {
      name
    }
  }
  sendMessage(input: { to: { agentId: $agentId }, messages: [{ text: $text }], waitMs: 10000 }) {
    __typename
    ... on SendMessageSuccess {
      run {
        id
        status
        pendingToolCalls {
          id
          name
          arguments
        }
      }
    }
    ... on Refusal {
      message
    }
  }
}
`,
    variables: json({
      agentId: 'agent_...',
      toolId: 'tool_...',
      text: 'call send_invoice {"customer": "Ada", "amount": 120}',
    }),
  },
  {
    query: `# 6. Decide. The same run goes on, and tells the model
# what the tool returned. To refuse instead, with a
# reason that the model reads:
#   deny: { toolCallId: $toolCallId, reason: "Too much." }

mutation Approve($runId: ID!, $toolCallId: ID!) {
  submitApprovals(
    input: { runId: $runId, decisions: [{ approve: { toolCallId: $toolCallId } }], waitMs: 10000 }
  ) {
    __typename
    ... on SubmitApprovalsSuccess {
      run {
        status
        stopReason
        answer
      }
    }
    ... on Refusal {
      message
    }
  }
}
`,
    variables: json({ runId: 'run_...', toolCallId: 'call_...' }),
  },
  {
    query: `# 7. Cancel. Start something slow first, by SendMessage
# (slow 2000). Named here by its agent; a run can be
# named too: cancelRun(input: { runId: "run_..." }).
# What had been streamed is kept, and the agent takes the
# next message.

mutation Cancel($agentId: ID!) {
  cancelRun(input: { agentId: $agentId }) {
    __typename
    ... on CancelRunSuccess {
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
`,
    variables: json({ agentId: 'agent_...' }),
  },
  {
    query: `# 8. What happened: the latest runs, newest first.
# For more, pass endCursor as "after".

query ListRuns($after: String) {
  runs(first: 20, after: $after) {
    totalCount
    nodes {
      id
      status
      stopReason
      answer
      createdAt
      agent {
        name
      }
      usage {
        steps
        totalTokens
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`,
  },
  {
    query: `# 9. The inbox: what waits for someone, oldest first.
# Live: subscription { approvalInbox { __typename } }

query Inbox {
  toolCalls(filter: { statuses: [PENDING] }) {
    totalCount
    nodes {
      id
      name
      arguments
      createdAt
      agent {
        name
      }
      run {
        id
      }
    }
  }
}
`,
  },
]

function json(variables: object): string {
  return JSON.stringify(variables, null, 2)
}
