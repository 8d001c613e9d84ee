import { expect } from 'vitest'

import { createLog, type Log, type LogLevel } from '../../src/util/log.ts'

export interface CapturedLog {
  readonly log: Log
  /** The lines so far. */
  readonly lines: readonly Record<string, any>[]
  /** The lines with this message. */
  with(message: string): Record<string, any>[]
  /** Waits for a line with this message and these fields. */
  until(message: string, facts?: object): Promise<Record<string, any>>
}

export function captureLog(level: LogLevel = 'info'): CapturedLog {
  const lines: Record<string, any>[] = []
  const captured: CapturedLog = {
    log: createLog(level, { write: (line) => void lines.push(JSON.parse(line)) }),
    lines,
    with: (message) => lines.filter(({ msg }) => msg === message),
    async until(message, facts = {}) {
      const expected = expect.objectContaining({ ...facts })
      await expect.poll(() => captured.with(message)).toContainEqual(expected)
      return captured.with(message).find((line) => Object.entries(facts).every(([key, value]) => line[key] === value))!
    },
  }
  return captured
}
