import { useRef } from 'react'

import type { RunEventFields } from '../../client/documents.ts'
import { createTranscript, type TranscriptState } from '../../client/transcript.ts'

/** What a reader saw after this many events. Going forward costs only the events in between. */
export function useTranscriptAt(events: readonly RunEventFields[], position: number): TranscriptState {
  const last = useRef({ transcript: createTranscript(), position: 0 })
  if (position < last.current.position) last.current = { transcript: createTranscript(), position: 0 }
  const { transcript } = last.current
  for (const event of events.slice(last.current.position, position)) transcript.apply(event)
  last.current.position = position
  return transcript.state
}
