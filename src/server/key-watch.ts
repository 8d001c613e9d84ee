import { toClientError } from '../graphql/errors.ts'
import type { Log } from '../util/log.ts'
import type { Authenticate } from './access/authentication.ts'

/**
 * Closes sockets and event streams whose key or token was revoked or has expired. Every key and token in use is checked
 * at intervals.
 */
export interface KeyWatch {
  /** Calls `close` once the key is no longer valid, with the reason. Call the returned function to stop watching. */
  add(authorization: string, close: (reason: string) => void): () => void
  stop(): void
}

export function createKeyWatch(
  authenticate: Authenticate<unknown>,
  { everyMs, log }: { readonly everyMs: number; readonly log: Log },
): KeyWatch {
  const users = new Map<string, Set<(reason: string) => void>>()

  async function check(authorization: string): Promise<void> {
    try {
      await authenticate(authorization)
    } catch (error) {
      const { code, message } = toClientError(error, log)
      // A database that cannot be reached tells nothing about the key.
      if (code !== 'UNAUTHENTICATED' && code !== 'FORBIDDEN') return
      for (const close of users.get(authorization) ?? []) close(message)
    }
  }

  const timer = setInterval(() => {
    for (const authorization of users.keys()) void check(authorization)
  }, everyMs)
  timer.unref()

  return {
    add(authorization, close) {
      const set = users.get(authorization) ?? new Set()
      users.set(authorization, set.add(close))
      return () => {
        set.delete(close)
        if (set.size === 0 && users.get(authorization) === set) users.delete(authorization)
      }
    },
    stop: () => clearInterval(timer),
  }
}
