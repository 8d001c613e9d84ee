import { ClientError, toClientError } from '../../graphql/errors.ts'
import type { Log } from '../../util/log.ts'
import type { Answer } from '../answer.ts'

/** Ends what is open for a key or token that was revoked or has expired. Each one in use is checked at intervals. */
export interface KeyWatch {
  /** Calls `close` once the key is no longer valid, with the reason. Call the returned function to stop watching. */
  add(authorization: string, close: (reason: string) => void): () => void
  /** Ends an answer with 401 once its request's key is no longer valid, or cuts it if it has begun. */
  addAnswer(authorization: string | null, answer: Answer): void
  stop(): void
}

export function createKeyWatch(
  authenticate: (authorization: string) => Promise<unknown>,
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

  function add(authorization: string, close: (reason: string) => void): () => void {
    const set = users.get(authorization) ?? new Set()
    users.set(authorization, set.add(close))
    return () => {
      set.delete(close)
      if (set.size === 0 && users.get(authorization) === set) users.delete(authorization)
    }
  }

  return {
    add,
    addAnswer(authorization, answer) {
      if (authorization === null || answer.isOver) return
      answer.onceOver(add(authorization, (reason) => answer.end(new ClientError('UNAUTHENTICATED', reason))))
    },
    stop: () => clearInterval(timer),
  }
}
