import { expect, test } from 'vitest'

import { measureTurns } from '../../bench/turn.ts'

const turns = 100

test(
  '[ENG14] a turn of two model calls and one tool stays within its cost, whatever the history',
  { timeout: 120_000 },
  async () => {
    const short = await measureTurns({ turns, history: 10 })
    const long = await measureTurns({ turns, history: 100_000 })
    for (const { statements, walBytes } of [short, long]) {
      expect(statements).toBeLessThanOrEqual(6)
      expect(walBytes).toBeLessThanOrEqual(7_168)
    }
    expect(Math.abs(long.statements / short.statements - 1)).toBeLessThan(0.2)
    expect(Math.abs(long.walBytes / short.walBytes - 1)).toBeLessThan(0.2)
  },
)
