import { expect, test } from 'vitest'

import { packEntries, unpackEntries } from '../../src/store/runs/log-entries.ts'

test('[UPG2] a row of the log that a newer version wrote is refused with UNAVAILABLE', () => {
  const entries = [{ type: 'stepStarted', index: 0 }] as const
  expect(unpackEntries(packEntries(entries))).toEqual(entries)
  for (const newer of ['[2,["b",0]]', '[["b",0],["z",1]]']) {
    expect(() => unpackEntries(newer)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }))
  }
})
