import type { ReactNode } from 'react'

import { words } from '../data/format.ts'

const tones: Readonly<Record<string, string>> = {
  RUNNING: 'live',
  READY: 'live',
  QUEUED: 'quiet',
  AWAITING_APPROVAL: 'hold',
  PENDING: 'hold',
  PAUSED: 'hold',
  CANCELLING: 'quiet',
  COMPLETED: 'good',
  SUCCEEDED: 'good',
  DELIVERED: 'good',
  DEAD: 'bad',
  FAILED: 'bad',
  DENIED: 'bad',
  CANCELLED: 'quiet',
}

/** The state of a run, step or call. */
export function Status({ value }: { readonly value: string }): ReactNode {
  return <span className={`status ${tones[value] ?? 'quiet'}`}>{words(value)}</span>
}
