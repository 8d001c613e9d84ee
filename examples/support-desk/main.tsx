import { createClient as createSocket } from 'graphql-ws'
import { StrictMode, useEffect, useState, type ReactNode } from 'react'
import { createRoot } from 'react-dom/client'

import { createClient, type TypedDocument } from '../../client/index.ts' // In your app: 'holdpoint/client'
import { decide, HoldpointProvider, useClient, useInbox } from '../../react/index.ts' // In your app: 'holdpoint/react'
import { Chat } from '../react/chat.tsx'

const FindAgent = 'query { agents(filter: { key: "support-desk" }) { nodes { id } } }' as TypedDocument<
  { readonly agents: { readonly nodes: readonly { readonly id: string }[] } },
  Record<string, never>
>

const CreateConversation = `mutation ($agentId: ID!) {
  createConversation(input: { agentId: $agentId, title: "A customer" }) { conversation { id } }
}` as TypedDocument<
  { readonly createConversation: { readonly conversation: { readonly id: string } } },
  { readonly agentId: string }
>

/** Each customer has a conversation. A reload returns to it, because its id is in the address. */
function Customer(): ReactNode {
  const client = useClient()
  const [id, setId] = useState(location.hash.slice(1))
  const start = async (): Promise<void> => {
    const { agents } = await client.request(FindAgent, {})
    const { createConversation } = await client.request(CreateConversation, { agentId: agents.nodes.at(0)!.id })
    setId(createConversation.conversation.id)
  }
  useEffect(() => history.replaceState(null, '', `#${id}`), [id])
  return id ? <Chat conversationId={id} /> : <button onClick={() => void start()}>Ask a question</button>
}

/** The calls of all customers that wait for the people at the desk. */
function Desk(): ReactNode {
  const client = useClient()
  const { calls } = useInbox()
  return (
    <section aria-label="Desk">
      <h2>{calls.length === 0 ? 'Nothing waits' : `${calls.length} waiting`}</h2>
      {calls.map(({ id, name, arguments: args, run }) => (
        <p key={id}>
          {name} {JSON.stringify(args)}{' '}
          <button onClick={() => void decide(client, run.id, [{ approve: { toolCallId: id } }])}>Approve</button>{' '}
          <button onClick={() => void decide(client, run.id, [{ deny: { toolCallId: id, reason: 'Not today.' } }])}>
            Deny
          </button>
        </p>
      ))}
    </section>
  )
}

const url = new URL('/graphql', location.href).href
const client = createClient({ url, socket: createSocket({ url: url.replace(/^http/, 'ws'), retryAttempts: 0 }) })
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <HoldpointProvider client={client}>
      <Customer />
      <Desk />
    </HoldpointProvider>
  </StrictMode>,
)
