import { expect, it } from 'vitest'

import { createIdSource } from '../../src/util/ids.ts'

it('[IDS1] ids increase strictly, within one millisecond and when the clock steps back by a day', () => {
  let now = Date.parse('2026-01-02T00:00:00Z')
  const ids = createIdSource({ now: () => new Date(now) })
  const made: string[] = []
  for (const step of [0, 1, -86_400_000, 0, 5]) {
    now += step
    for (let i = 0; i < 10_000; i += 1) made.push(ids.next())
  }
  expect(made).toEqual([...new Set(made)].toSorted())
  expect(made[0]).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
})
