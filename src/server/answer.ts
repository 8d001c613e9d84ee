import type { ServerResponse } from 'node:http'

import type { ClientError } from '../graphql/errors.ts'
import { sendClientError } from './pages/pages.ts'

/** The answer to a request, whether it goes over a socket or stays in the program. */
export interface Answer {
  /** True if it is complete, or nobody will read the rest. */
  readonly isOver: boolean
  onceOver(listener: () => void): void
  /** Cuts it. If nothing of it was sent yet, the error is sent instead. */
  end(error?: ClientError): void
}

export function answerOf(response: ServerResponse): Answer {
  return {
    get isOver() {
      return response.destroyed || response.writableEnded
    },
    onceOver: (listener) => void response.once('close', listener),
    end(error) {
      // A request whose body arrives later would still be executed.
      if (!error || response.headersSent || !response.req.complete) response.destroy()
      else sendClientError(response, error)
    },
  }
}
