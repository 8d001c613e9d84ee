import { expect, test } from 'vitest'

import { measureTurns, type TurnCost } from '../../bench/turn.ts'

const turns = 50

test(
  '[ENG14] a turn of two model calls and one tool stays within its cost, whatever the history',
  { timeout: 120_000 },
  async () => {
    const costs = await measureTurns({ turns, histories: [10, 100_000], fsync: false })
    const [short, long] = costs as [TurnCost, TurnCost]
    for (const { statements, walBytes } of costs) {
      expect(statements).toBeLessThanOrEqual(6)
      expect(walBytes).toBeLessThanOrEqual(7_168)
    }
    expect(Math.abs(long.statements / short.statements - 1)).toBeLessThan(0.2)
    expect(Math.abs(long.walBytes / short.walBytes - 1)).toBeLessThan(0.2)
  },
)
