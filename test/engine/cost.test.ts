import { expect, test } from 'vitest'

import { measureTurns, turnLimits } from '../../bench/turn.ts'

// That a long history costs no more is tested in release/large.
test('[ENG14] a turn of two model calls and one tool stays within its cost', { timeout: 120_000 }, async () => {
  const [cost] = await measureTurns({ turns: 50, histories: [10], fsync: false })
  expect(cost!.statements).toBeLessThanOrEqual(turnLimits.statements)
  expect(cost!.walBytes).toBeLessThanOrEqual(turnLimits.walBytes)
})
