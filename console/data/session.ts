import { createClient as createSocketClient } from 'graphql-ws'
import { useSyncExternalStore } from 'react'

import { createClient, HoldpointError, type Client } from '../../client/client.ts'
import { Viewer, type ViewerData } from './documents.ts'
import { reach } from './reach.ts'

export type Session =
  | { readonly phase: 'CHECKING' }
  | { readonly phase: 'UNREACHABLE'; readonly notice: string | undefined }
  | { readonly phase: 'SIGNED_OUT'; readonly notice: string | undefined }
  | {
      readonly phase: 'READY'
      readonly client: Client
      /** Undefined if the server requires none. */
      readonly key: string | undefined
      readonly viewer: ViewerData['viewer']
    }

const place = 'holdpoint.key'
const listeners = new Set<() => void>()
let session: Session = { phase: 'CHECKING' }
let endSocket: () => void = () => {}

function set(next: Session): void {
  session = next
  for (const listener of [...listeners]) listener()
}

/** Tries to use the server with a key, or without one. Rejects if the server does not accept the key. */
async function open(key: string | undefined): Promise<void> {
  const { client, end } = createBrowserClient(key)
  try {
    const { viewer } = await client.request(Viewer, {})
    endSocket = end
    set({ phase: 'READY', client, key, viewer })
  } catch (error) {
    end()
    throw error
  }
}

/** Rejects with a message for the person who signs in. */
export async function signIn(key: string): Promise<void> {
  try {
    await open(key)
    localStorage.setItem(place, key)
  } catch (error) {
    if (!isUnauthenticated(error)) throw error
    throw new Error('The server does not accept this key. Check that it is complete and has not been revoked.', {
      cause: error,
    })
  }
}

export function signOut(notice?: string): void {
  localStorage.removeItem(place)
  endSocket()
  set({ phase: 'SIGNED_OUT', notice })
}

let resuming: Promise<void> | undefined

/** Uses the key of an earlier visit, or none. Asks once at a time, however slow the server is. */
export function resume(): Promise<void> {
  return (resuming ??= tryToResume().finally(() => (resuming = undefined)))
}

async function tryToResume(): Promise<void> {
  const key = localStorage.getItem(place) ?? undefined
  try {
    await open(key)
  } catch (error) {
    if (isUnauthenticated(error)) signOut(key && 'Your key is no longer valid.')
    else set({ phase: 'UNREACHABLE', notice: error instanceof Error ? error.message : String(error) })
  }
}

/** The key that requests are made with. Undefined if the server wants none. */
export function currentKey(): string | undefined {
  return session.phase === 'READY' ? session.key : undefined
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof HoldpointError && error.code === 'UNAUTHENTICATED'
}

export function useSession(): Session {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => session,
  )
}

/** How long the socket may be silent before it counts as dead, for example after a laptop has slept. */
const pongTimeoutMs = 5_000

function createBrowserClient(key: string | undefined): { client: Client; end: () => void } {
  let timer: number | undefined
  let isEnded = false
  const socket = createSocketClient({
    url: `${location.protocol.replace('http', 'ws')}//${location.host}/graphql`,
    retryAttempts: 0,
    keepAlive: 10_000,
    ...(key !== undefined && { connectionParams: { Authorization: `Bearer ${key}` } }),
    on: {
      ping: (received) => {
        if (!received) timer = window.setTimeout(() => socket.terminate(), pongTimeoutMs)
      },
      pong: () => window.clearTimeout(timer),
      // The next socket must not be ended because this one was silent.
      closed: () => window.clearTimeout(timer),
    },
  })
  // A browser that is offline would keep the socket until the next ping.
  const lose = (): void => socket.terminate()
  addEventListener('offline', lose)
  const client = createClient({ url: '/graphql', key, socket })
  const watch = (error: unknown): void => {
    if (isUnauthenticated(error) && !isEnded && session.phase === 'READY' && session.client === watched) {
      signOut(key === undefined ? 'The server now requires a key.' : 'Your key is no longer valid.')
    }
  }
  const watched: Client = {
    ...client,
    connection: client.connection,
    async request(document, variables, options) {
      try {
        return await reach(client.request(document, variables, options))
      } catch (error) {
        watch(error)
        throw error
      }
    },
    subscribe: (document, variables, sink) =>
      client.subscribe(document, variables, {
        next: (data) => sink.next(data),
        complete: () => sink.complete(),
        error(error) {
          watch(error)
          sink.error(error)
        },
      }),
  }
  return {
    client: watched,
    end() {
      isEnded = true
      removeEventListener('offline', lose)
      void socket.dispose()
    },
  }
}

void resume()
