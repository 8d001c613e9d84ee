/** One tab of GraphiQL. The tab is named after its operation. */
export interface TourTab {
  readonly query: string
  readonly variables?: string
}

/** The product in the order in which one meets it. Each tab says where its ids come from. */
export const tour: readonly TourTab[] = [
  {
    query: `# Welcome to Holdpoint. The tabs above lead through it, from left to right:
# create an agent, send it a message, watch the answer being written, give it a
# tool that needs your approval, approve, cancel, list.
#
# Run a tab with Ctrl-Enter. Everything works with the model demo/scripted, which
# needs no key and no network.
#
# A server with keys wants one, in "Headers" below:
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
    query: `# 1. An agent: a model with instructions, memory and tools.
# Copy the id (agent_...) from the answer: the next tabs want it as a variable.

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
    query: `# 2. A message starts a run. The answer comes at once, while the run goes on:
# copy the run's id (run_...) into the next tab, quickly enough to see it being written.
#
# demo/scripted does what the message says, line by line:
#   think <text>       reasons        slow <ms>   waits before each token
#   say <text>         answers        call <tool> <json>   calls a tool
# Any other text is answered with a sentence that repeats it.

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
    query: `# 3. Watch it: the run's id is in the answer of SendMessage.
# The stream starts at the beginning however late you come, and ends with the run.
# To go on where you left off, pass the last cursor you saw as "after".

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
    query: `# 4. A tool that may not run before someone has approved it.
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
    query: `# 5. Give the tool to the agent and let it be called. The run stops at the call:
# it holds no worker, and waits for as long as it takes.
# Copy the run's id and the pending call's id (call_...) into the next tab.

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
    query: `# 6. Decide. The same run goes on, and tells the model what the tool returned.
# To refuse instead, give a reason that the model reads:
#   decisions: [{ deny: { toolCallId: $toolCallId, reason: "Too much." } }]

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
    query: `# 7. Cancel. Start something slow with SendMessage first (slow 2000), then name its agent
# here, or the run itself: cancelRun(input: { runId: $runId }).
# What had been streamed is kept, and the agent takes the next message.

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
    query: `# 8. What happened: the latest runs, newest first. More: pass endCursor as "after".

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
    query: `# 9. The inbox: everything that waits for someone, oldest first.
# As a subscription: approvalInbox.

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
