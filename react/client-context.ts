import { createContext, createElement, useContext, type ReactNode } from 'react'

import type { Client } from '../client/client.ts'

const ClientContext = createContext<Client | undefined>(undefined)

/** Makes a client available to the hooks, which all share its socket. */
export function HoldpointProvider({
  client,
  children,
}: {
  readonly client: Client
  readonly children?: ReactNode
}): ReactNode {
  return createElement(ClientContext.Provider, { value: client }, children)
}

export function useClient(): Client {
  const client = useContext(ClientContext)
  if (!client)
    throw new Error('There is no Holdpoint client: put a <HoldpointProvider client={…}> around this component.')
  return client
}
