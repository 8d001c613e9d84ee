import type { Client } from './client.ts'
import { RunEvents, type RunEventFields } from './documents.ts'
import { keepSubscribed } from './keep-subscribed.ts'
import { createTranscript, type Transcript } from './transcript.ts'

export interface FollowOptions {
  /** Called after every change of the transcript. */
  readonly onChange?: (transcript: Transcript) => void
  /** Called with each event that was new. */
  readonly onEvent?: (event: RunEventFields) => void
  /** Called once if the server refuses, such as with `NOT_FOUND` or `UNAUTHENTICATED`. */
  readonly onError?: (error: Error) => void
}

export interface FollowRunOptions extends FollowOptions {
  /** Start after this cursor instead of at the beginning of the run. */
  readonly after?: string
  /** Called when the run has ended and every event has arrived. */
  readonly onEnd?: (transcript: Transcript) => void
}

export interface Follower {
  readonly transcript: Transcript
  stop(): void
}

/** Follows a run to its end, through lost connections and restarts of the server, without a gap or a repeat. */
export function followRun(client: Client, runId: string, options: FollowRunOptions = {}): Follower {
  const transcript = createTranscript({ cursor: options.after })
  const stop = keepSubscribed(client, {
    document: RunEvents,
    variables: () => ({ runId, after: transcript.state.cursor }),
    next({ runEvents: event }) {
      if (!transcript.apply(event)) return
      options.onEvent?.(event)
      options.onChange?.(transcript)
    },
    complete: () => options.onEnd?.(transcript),
    refused: (error) => options.onError?.(error),
  })
  return { transcript, stop }
}
