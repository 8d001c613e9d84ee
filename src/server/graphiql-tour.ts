/** One tab of GraphiQL. The tab is named after its operation. */
export interface TourTab {
  readonly query: string
  readonly variables?: string
}

/** A tour of the product. Each tab says where its ids come from. */
export const tour: readonly TourTab[] = [
  {
    query: `# Welcome to Holdpoint. The tabs above are a tour:
# create an agent, send it a message, watch its answer,
# give it a tool that needs approval, approve the call,
# cancel a run, list runs.
#
# Press Ctrl-Enter to run a tab. The tour uses the model
# demo/scripted, which needs no key and no network.
#
# If the server asks for a key, add it under "Headers":
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
    query: `# 1. Create an agent: a model with instructions, memory
# and tools. Copy the id from the answer (agent_...) into
# the variables of the next tabs.

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
    query: `# 2. Send a message. It starts a run. The mutation answers
# at once, while the run continues for a minute: copy the
# run's id (run_...) into the next tab. A double-click on
# AGENT_ID or another placeholder selects all of it.
#
# demo/scripted does what each line of the message says:
#   say <text>             answers
#   think <text>           reasons
#   slow <ms>              waits before each token
#   call <tool> <json>     calls a tool
# It repeats any other text.

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
      agentId: 'AGENT_ID',
      text: 'slow 1000\nthink They would like to see tokens arrive, and need a moment to copy the id of this run and to open the next tab.\nsay Every word of this answer arrives as the model writes it, one second after the other, so there is time to start watching in the middle. If you close the page and come back, the stream continues where you were. If the server is killed, another one continues the run.',
    }),
  },
  {
    query: `# 3. Watch the run. Its id is in the answer of SendMessage.
# The stream starts at the beginning of the run, even if
# you subscribe late, and ends with the run. GraphiQL
# shows the latest event. To continue after an event,
# pass its cursor as "after".

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
    variables: json({ runId: 'RUN_ID' }),
  },
  {
    query: `# 4. Create a tool whose calls need approval.
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
    query: `# 5. Attach the tool to the agent, and make the agent call
# it. The run pauses at the call and waits for a decision,
# however long it takes. Copy the ids of the run (run_...)
# and of the pending call (call_...) into the next tab.

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
      agentId: 'AGENT_ID',
      toolId: 'TOOL_ID',
      text: 'call send_invoice {"customer": "Ada", "amount": 120}',
    }),
  },
  {
    query: `# 6. Approve the call. The run continues, and the model
# gets the result of the tool. To deny it instead, with a
# reason for the model:
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
    variables: json({ runId: 'RUN_ID', toolCallId: 'CALL_ID' }),
  },
  {
    query: `# 7. Cancel a run. First start a slow one with SendMessage
# (slow 2000). This cancels the agent's run. You can also
# name the run: cancelRun(input: { runId: "run_..." }).
# The text streamed so far is kept, and the agent accepts
# the next message.

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
    variables: json({ agentId: 'AGENT_ID' }),
  },
  {
    query: `# 8. List the runs, newest first. For the next page, pass
# endCursor as "after".

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
    query: `# 9. List the calls that wait for approval, oldest first.
# To watch them: subscription { approvalInbox { __typename } }

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
