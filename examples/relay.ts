import { createClient } from 'graphql-ws'
import {
  commitMutation,
  Environment,
  fetchQuery,
  Network,
  Observable,
  requestSubscription,
  type ConcreteRequest,
  type GraphQLResponse,
  type RequestParameters,
  type Variables,
} from 'relay-runtime'

import createAgentArtifact from './__generated__/relayCreateAgentMutation.graphql.ts'
import runEventsArtifact from './__generated__/relayRunEventsSubscription.graphql.ts'
import sendMessageArtifact from './__generated__/relaySendMessageMutation.graphql.ts'
import storedRunArtifact from './__generated__/relayStoredRunQuery.graphql.ts'
import submitApprovalsArtifact from './__generated__/relaySubmitApprovalsMutation.graphql.ts'
import upsertToolArtifact from './__generated__/relayUpsertToolMutation.graphql.ts'
import { getDataID } from './actors.ts'
import * as operations from './shared.ts'
import { tellStory, url } from './story.ts'

/** The library must not retry: a lost connection is an error, and we subscribe again with the last cursor. */
const socket = createClient({ url: url.replace(/^http/, 'ws'), retryAttempts: 0 })

async function send({ text }: RequestParameters, variables: Variables): Promise<GraphQLResponse> {
  const body = JSON.stringify({ query: text, variables })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return (await response.json()) as GraphQLResponse
}

const environment = new Environment({
  getDataID: getDataID as never,
  network: Network.create(send, ({ text }, variables) =>
    Observable.create((sink) => socket.subscribe({ query: text!, variables }, sink as never)),
  ),
})

const artifacts: readonly ConcreteRequest[] = [
  createAgentArtifact,
  runEventsArtifact,
  sendMessageArtifact,
  storedRunArtifact,
  submitApprovalsArtifact,
  upsertToolArtifact,
]

/** A document stands for its compiled artifact. In an app, the bundler's Relay plugin does this. */
function graphql([text]: TemplateStringsArray): ConcreteRequest {
  return artifacts.find(({ params }) => text!.includes(`${params.name}(`))!
}

const compiled = new Map([
  [
    operations.upsertTool,
    graphql`
      mutation relayUpsertToolMutation($input: UpsertToolInput!) {
        upsertTool(input: $input) {
          tool {
            id
          }
        }
      }
    `,
  ],
  [
    operations.createAgent,
    graphql`
      mutation relayCreateAgentMutation($input: CreateAgentInput!) {
        createAgent(input: $input) {
          agent {
            id
          }
        }
      }
    `,
  ],
  [
    operations.sendMessage,
    graphql`
      mutation relaySendMessageMutation($input: SendMessageInput!) {
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
    `,
  ],
  [
    operations.submitApprovals,
    graphql`
      mutation relaySubmitApprovalsMutation($input: SubmitApprovalsInput!) {
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
    `,
  ],
  [
    operations.storedRun,
    graphql`
      query relayStoredRunQuery($id: ID!) {
        run(id: $id) {
          id
          status
          messages(first: 50) @connection(key: "relayStoredRun_messages") {
            edges {
              node {
                id
                ... on AssistantMessage {
                  text
                }
              }
            }
          }
        }
      }
    `,
  ],
])

const runEvents = graphql`
  subscription relayRunEventsSubscription($runId: ID!, $after: EventCursor) {
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

await tellStory({
  async query(document, variables) {
    const data: any = await fetchQuery(environment, compiled.get(document)!, { ...variables }).toPromise()
    const nodes = data.run.messages.edges.map(({ node }: any) => node)
    return { run: { ...data.run, messages: { nodes } } }
  },
  mutate(document, variables) {
    return new Promise((resolve, reject) => {
      commitMutation(environment, {
        mutation: compiled.get(document)!,
        variables: { ...variables },
        onCompleted: (data, errors) => (errors ? reject(new Error(errors[0]!.message)) : resolve(data)),
        onError: reject,
      })
    })
  },
  follow(runId, after, onEvent) {
    return new Promise((resolve, reject) => {
      requestSubscription(environment, {
        subscription: runEvents,
        variables: { runId, after },
        onNext: (data: any) => onEvent(data.runEvents),
        onError: reject,
        onCompleted: () => resolve(),
      })
    })
  },
  drop: () => socket.terminate(),
  close: () => socket.dispose(),
})
