import { createClient as createSocket } from 'graphql-ws'
import { StrictMode, useEffect, useState, type ReactNode } from 'react'
import { createRoot } from 'react-dom/client'

import { createClient, CreateConversation, FindAgent } from '../../client/index.ts' // In your app: 'holdpoint/client'
import { decide, HoldpointProvider, useClient, useInbox } from '../../react/index.ts' // In your app: 'holdpoint/react'
import { Chat, useAction } from '../react/chat.tsx'

/** Each customer has a conversation. A reload returns to it, because its id is in the address. */
function Customer(): ReactNode {
  const client = useClient()
  const [id, setId] = useState(location.hash.slice(1))
  const { act, problem } = useAction()
  const start = async (): Promise<object> => {
    const { agents } = await client.request(FindAgent, { key: 'support-desk' })
    const input = { agentId: agents.nodes.at(0)!.id, title: 'A customer' }
    const { createConversation } = await client.request(CreateConversation, { input })
    setId(createConversation!.conversation.id)
    return createConversation!
  }
  useEffect(() => history.replaceState(null, '', `#${id}`), [id])
  if (id) return <Chat conversationId={id} />
  return problem ?? <button onClick={() => act(start())}>Ask a question</button>
}

/** The calls of all customers that wait for the people at the desk. */
function Desk(): ReactNode {
  const client = useClient()
  const { calls } = useInbox()
  const { act, problem } = useAction()
  return (
    <section aria-label="Desk">
      <h2>{calls.length === 0 ? 'Nothing waits' : `${calls.length} waiting`}</h2>
      {calls.map(({ id, name, arguments: args, run }) => (
        <p key={id}>
          {name} {JSON.stringify(args)}{' '}
          <button onClick={() => act(decide(client, run.id, [{ approve: { toolCallId: id } }]))}>Approve</button>{' '}
          <button onClick={() => act(decide(client, run.id, [{ deny: { toolCallId: id, reason: 'Not today.' } }]))}>
            Deny
          </button>
        </p>
      ))}
      {problem && <p role="alert">{problem}</p>}
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
