import { createClient as createSocket } from 'graphql-ws'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import { createClient } from '../../client/index.ts' // In your app: 'holdpoint/client'
import { HoldpointProvider } from '../../react/index.ts' // In your app: 'holdpoint/react'
import { Chat } from './chat.tsx'

// Vite forwards /graphql to the server: see vite.config.ts. One socket serves all hooks of the page.
const url = new URL('/graphql', location.href).href
const client = createClient({ url, socket: createSocket({ url: url.replace(/^http/, 'ws'), retryAttempts: 0 }) })

// The conversation's id is in the address: http://localhost:5173/#conv_…
const id = location.hash.slice(1)
addEventListener('hashchange', () => location.reload())

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <HoldpointProvider client={client}>
      {id ? <Chat conversationId={id} /> : <p>Put the id of a conversation at the end of the address: #conv_…</p>}
    </HoldpointProvider>
  </StrictMode>,
)
