import { expect, test } from 'vitest'

import { duration } from '../../console/data/format.ts'
import { axisOf, waitsOf, type Bar, type BarKind } from '../../console/data/timeline.ts'

const bar = (kind: BarKind, from: number, to: number): Bar => ({ kind, label: kind, from, to })
const hour = 3_600_000

test('[CON151] a pause that took longer than all work is drawn short, and the marks count the rest', () => {
  const bars = [bar('model', 0, 300), bar('people', 300, 2 * hour), bar('tools', 2 * hour, 2 * hour + 200)]
  const { place, cuts, marks } = axisOf(bars, { from: 0, to: 2 * hour + 200 })
  expect(cuts).toEqual([{ from: 300, to: 2 * hour }])
  expect([0, 300, 2 * hour, 2 * hour + 200].map((time) => Math.round(10 * place(time)) / 10)).toEqual([
    0, 52.8, 64.8, 100,
  ])
  expect(marks.map(({ label }) => label)).toEqual(['0', '100 ms', '200 ms', '300 ms', '400 ms'])
  expect(marks.map(({ at }) => at)).toEqual([0, 100, 200, 2 * hour, 2 * hour + 100].map(place))
})

test('[CON151] a short pause, and a wait without any work, are drawn as long as they were', () => {
  const short = [bar('model', 0, 300), bar('people', 300, 2_300)]
  expect(axisOf(short, { from: 0, to: 2_300 }).cuts).toEqual([])
  const queued = axisOf([bar('queue', 0, hour)], { from: 0, to: hour })
  expect(queued.cuts).toEqual([])
  expect(queued.marks.map(({ label }) => label)).toEqual(['0', '15 min', '30 min', '45 min'])
})

test('[CON151] the marks are at round times, and there are a few of them, however long the run took', () => {
  for (let length = 7; length < 60 * hour; length *= 1.7) {
    const { marks } = axisOf([], { from: 0, to: length })
    expect(marks.length, `${length} ms`).toBeGreaterThan(2)
    expect(marks.length, `${length} ms`).toBeLessThan(7)
    for (const { label } of marks) expect(label).toMatch(/^(0|\d{1,3}(\.5)? (ms|s|min|h)( 30 (s|min))?)$/)
  }
})

test('[CON151] the times when the run as a whole waited come from its events', () => {
  const change = (at: number, status: string, stopReason: string | null = null) =>
    ({ at: new Date(at).toISOString(), status, stopReason }) as Parameters<typeof waitsOf>[0][number]
  const changes = [
    change(0, 'QUEUED'),
    change(10, 'RUNNING'),
    change(20, 'AWAITING_APPROVAL', 'BUDGET_EXCEEDED'),
    change(50, 'RUNNING'),
    change(60, 'AWAITING_APPROVAL', 'REQUIRES_APPROVAL'),
    change(65, 'RUNNING'),
    change(70, 'FAILED'),
    change(90, 'QUEUED'),
  ]
  expect(waitsOf(changes, 100).map(({ kind, from, to }) => [kind, from, to])).toEqual([
    ['queue', 0, 10],
    ['people', 20, 50],
    ['people', 70, 90],
    ['queue', 90, 100],
  ])
})

test('[CON151] a duration has no more digits than it needs', () => {
  const times = [0, 999.7, 1_000, 4_240, 59_960, 60_000, 119_900, 2 * hour, 2 * hour + 5 * 60_000]
  expect(times.map(duration)).toEqual(['0 ms', '1 s', '1 s', '4.2 s', '1 min', '1 min', '2 min', '2 h', '2 h 5 min'])
})
