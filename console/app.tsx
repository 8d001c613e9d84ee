import type { ReactNode } from 'react'

import { HoldpointProvider } from '../react/client-context.ts'
import { useSession } from './data/session.ts'
import { SignInPage } from './pages/sign-in-page.tsx'
import { Frame } from './parts/frame.tsx'
import { Routes } from './routes.tsx'
import { Unreachable } from './parts/unreachable.tsx'

export function App(): ReactNode {
  const session = useSession()
  if (session.phase === 'CHECKING') return <div className="boot" aria-busy="true" />
  if (session.phase === 'UNREACHABLE') return <Unreachable problem={session.notice ?? ''} />
  if (session.phase === 'SIGNED_OUT') return <SignInPage notice={session.notice} />
  return (
    <HoldpointProvider client={session.client} key={session.key ?? ''}>
      <Frame viewer={session.viewer} isSignedIn={session.key !== undefined}>
        <Routes />
      </Frame>
    </HoldpointProvider>
  )
}
