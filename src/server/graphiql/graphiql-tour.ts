import { parse, print } from 'graphql'

/** One tab of GraphiQL. The tab is named after its operation. */
export interface TourTab {
  readonly query: string
  readonly variables?: string
}

/** With comments of at most 36 characters, so that they fit a window of 1024 pixels. */
function tab(comment: string, operation: string, variables?: object): TourTab {
  const wrapped = comment.split('\n').map((line) => line.replaceAll(/(.{1,34})(?: |$)/g, '$1\n').trimEnd())
  const lines = wrapped.join('\n').split('\n')
  return {
    query: `${lines.map((line) => `# ${line}`.trimEnd()).join('\n')}\n\n${print(parse(operation))}\n`,
    ...(variables && { variables: JSON.stringify(variables, null, 2) }),
  }
}

/**
 * A tour of the product. In variables, AGENT_ID, RUN_ID and CALL_ID stand for ids that earlier tabs answered:
 * `graphiql-bar` puts them in.
 */
export const tour: readonly TourTab[] = [
  tab(
    `Welcome to Holdpoint. The tabs are a tour: create an agent, send it a message, watch its answer, give it a tool that needs approval, approve the call, cancel a run, list runs.

Press Ctrl-Enter to run a tab. There are no ids to copy: AGENT_ID, RUN_ID and CALL_ID in the variables stand for the ids that earlier tabs got.

If the server asks for an API key, enter it at the top right, once for all tabs.`,
    `query Welcome {
      viewer { actor { name } scopes }
      models { handle contextWindow }
      agents(first: 10) { totalCount nodes { id name model } }
    }`,
  ),
  tab(
    '1. Create an agent: a model with instructions, memory and tools. The model demo/scripted needs no key and no network.',
    `mutation CreateAgent($input: CreateAgentInput!) {
      createAgent(input: $input) { agent { id name model blocks { label value } } }
    }`,
    {
      input: {
        name: 'guide',
        model: 'demo/scripted',
        instructions: 'You are a patient guide.',
        blocks: [{ label: 'human', value: 'Curious, and new here.' }],
        includeBaseTools: false,
      },
    },
  ),
  tab(
    `2. Send a message, which starts a run. The mutation answers at once, and the run goes on for minutes: watch it in the next tab.

Each line of the text tells demo/scripted what to do:
  say <text>    answer
  think <text>  reason
  slow <ms>     wait at each token
  call <tool> <json>
It repeats any other text.`,
    `mutation SendMessage($input: SendMessageInput!) {
      sendMessage(input: $input) {
        __typename
        ... on SendMessageSuccess { run { id status } }
        ... on Refusal { message }
      }
    }`,
    {
      input: {
        to: { agentId: 'AGENT_ID' },
        messages: [
          {
            text: [
              'slow 1500',
              'think They would like to see tokens arrive, and need a moment to open the next tab.',
              'say Every word of this answer arrives as the model writes it, one after the other, so there is time to start watching in the middle.',
              'say If you close the page and come back, the stream continues where you were. If the server is killed, another one continues the run.',
              'say Nothing of this is lost when nobody watches: the text is stored as it was streamed, and whoever asks for the messages later reads the same words.',
              'say You can cancel me at any moment, and what I have said so far is kept.',
            ].join('\n'),
          },
        ],
      },
    },
  ),
  tab(
    '3. Watch the run. The stream starts where the run starts, even if you subscribe late, and ends with the run. GraphiQL shows the latest event. To go on after an event, pass its cursor as "after".',
    `subscription WatchRun($runId: ID!, $after: EventCursor) {
      runEvents(runId: $runId, after: $after) {
        __typename
        cursor
        ... on RunStatusChanged { status stopReason }
        ... on TextDelta { kind offset text }
        ... on ToolCallDelta { name argumentsText }
        ... on MessageAdded {
          message { __typename id ... on UserMessage { text } ... on AssistantMessage { text } }
        }
        ... on ToolCallChanged { toolCallStatus toolCall { id name arguments } }
      }
    }`,
    { runId: 'RUN_ID' },
  ),
  tab(
    '4. Create a tool whose calls need approval.',
    `mutation CreateTool($input: UpsertToolInput!) {
      upsertTool(input: $input) { tool { id name requiresApproval } }
    }`,
    {
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
    },
  ),
  tab(
    '5. Attach the tool to the agent by name, and make the agent call it. Then the run waits for a decision, however long that takes. INTERRUPT cancels the run of SendMessage, if it still goes on.',
    `mutation AskForApproval($tool: AttachToolInput!, $message: SendMessageInput!) {
      attachTool(input: $tool) { agent { name } }
      sendMessage(input: $message) {
        __typename
        ... on SendMessageSuccess { run { id status pendingToolCalls { id name arguments } } }
        ... on Refusal { message }
      }
    }`,
    {
      tool: { agentId: 'AGENT_ID', toolName: 'send_invoice' },
      message: {
        to: { agentId: 'AGENT_ID' },
        messages: [{ text: 'call send_invoice {"customer": "Ada", "amount": 120}' }],
        whenBusy: 'INTERRUPT',
        waitMs: 10_000,
      },
    },
  ),
  tab(
    `6. Approve the call. The run goes on, and the model gets the result of the tool. To deny the call and tell the model why, replace "approve" by
  "deny": {
    "toolCallId": "CALL_ID",
    "reason": "Too much." }`,
    `mutation Approve($input: SubmitApprovalsInput!) {
      submitApprovals(input: $input) {
        __typename
        ... on SubmitApprovalsSuccess { run { status stopReason answer } }
        ... on Refusal { message }
      }
    }`,
    { input: { runId: 'RUN_ID', decisions: [{ approve: { toolCallId: 'CALL_ID' } }], waitMs: 10_000 } },
  ),
  tab(
    '7. Cancel what the agent is doing: run SendMessage again first. You can also name one run, by runId. The text so far is kept, and the agent accepts the next message.',
    `mutation Cancel($agentId: ID!) {
      cancelRun(input: { agentId: $agentId }) {
        __typename
        ... on CancelRunSuccess { run { id status } }
        ... on Refusal { message }
      }
    }`,
    { agentId: 'AGENT_ID' },
  ),
  tab(
    '8. List the runs, newest first. For the next page, pass endCursor as "after".',
    `query ListRuns($after: String) {
      runs(first: 20, after: $after) {
        totalCount
        nodes { id status stopReason answer createdAt agent { name } usage { steps totalTokens } }
        pageInfo { hasNextPage endCursor }
      }
    }`,
  ),
  tab(
    '9. List the calls that wait for approval, oldest first. To watch them, subscribe to approvalInbox.',
    `query Inbox {
      toolCalls(filter: { statuses: [PENDING] }) {
        totalCount
        nodes { id name arguments createdAt agent { name } run { id } }
      }
    }`,
  ),
]
