import { expect, test } from 'vitest'

import { measureTurns } from '../../bench/turn.ts'

// That a long history costs no more is tested in release/large.
test('[ENG14] a turn of two model calls and one tool stays within its cost', { timeout: 120_000 }, async () => {
  const [cost] = await measureTurns({ turns: 50, histories: [10], fsync: false })
  expect(cost!.statements).toBeLessThanOrEqual(6)
  expect(cost!.walBytes).toBeLessThanOrEqual(7_168)
})
