import { Cron } from 'croner'
import { expect, test } from 'vitest'

import { cronFault, cronTimes } from '../../src/util/cron.ts'

function times(cron: string, timezone: string, after: string, count: number): string[] {
  return [...cronTimes({ cron, timezone }, new Date(after)).take(count)].map((time) => time.toISOString().slice(0, 16))
}

test.each([
  ...['* * * * *', '*/5 0-23/2 1,15 * *', '0 0 * * 7', '0 0 * * 0', '0 9 * jan-MAR mon,Fri', '59 23 31 12 0-7'],
  ...['0 0 * * FRI-SUN', ' 30  8 * * MON-FRI '],
])('[DUE2] "%s" is an expression', (cron) => {
  expect(cronFault(cron)).toBeUndefined()
  expect(times(cron, 'UTC', '2026-01-01T00:00:00Z', 1)).toHaveLength(1)
})

test.each([
  ...['', '* * * *', '* * * * * *', '0 0 0 * * * *', '@daily', '@hourly', '60 * * * *', '* 24 * * *', '* * 0 * *'],
  ...['* * 32 * *', '* * * 13 *', '* * * 0 *', '* * * * 8', '0 0 L * *', '0 0 * * 5L', '0 0 * * 5#2', '0 0 15W * *'],
  ...[
    '0 0 ? * *',
    '0 0 * * ?',
    '0 0 1 * +1',
    '5/15 * * * *',
    '*/0 * * * *',
    '*/61 * * * *',
    '9-5 * * * *',
    '1, * * * *',
  ],
  ...['-1 * * * *', '*-5 * * * *', '1.5 * * * *', 'mon * * * *', '0 0 * * monday', '1-2-3 * * * *', '*/1/2 * * * *'],
])('[DUE2] "%s" is none', (cron) => {
  expect(cronFault(cron)).toBeDefined()
})

test('[DUE2] day of month and day of week suffice each if both are given, and an impossible date is never due', () => {
  const both = ['2026-11-13T00:00', '2026-11-20T00:00', '2026-11-27T00:00', '2026-12-04T00:00', '2026-12-11T00:00']
  expect(times('0 0 13 * FRI', 'UTC', '2026-11-12T00:00:00Z', 6)).toEqual([...both, '2026-12-13T00:00'])
  expect(times('0 0 30 2 *', 'UTC', '2026-01-01T00:00:00Z', 1)).toEqual([])
  expect(times('0 0 29 2 *', 'UTC', '2096-03-01T00:00:00Z', 2)).toEqual(['2104-02-29T00:00', '2108-02-29T00:00'])
})

/** The clocks of Berlin go from 2:00 to 3:00 on 29 March (at 1:00 UTC), and from 3:00 to 2:00 on 25 October. */
const spring = '2026-03-29T00:00:00Z'
const autumn = '2026-10-24T23:59:00Z'

test.each([
  ['30 2 * * *', spring, ['2026-03-29T01:00', '2026-03-30T00:30']],
  ['0,30 2 * * *', spring, ['2026-03-29T01:00', '2026-03-30T00:00']],
  ['30 1-3 * * *', spring, ['2026-03-29T00:30', '2026-03-29T01:00', '2026-03-29T01:30', '2026-03-29T23:30']],
  ['*/30 * * * *', spring, ['2026-03-29T00:30', '2026-03-29T01:00', '2026-03-29T01:30']],
  ['30 2 * * *', autumn, ['2026-10-25T00:30', '2026-10-26T01:30']],
  ['0,30 2 * * *', autumn, ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-26T01:00']],
  ['30 1-3 * * *', autumn, ['2026-10-25T00:30', '2026-10-25T02:30', '2026-10-26T00:30']],
  ['30 * * * *', autumn, ['2026-10-25T00:30', '2026-10-25T01:30', '2026-10-25T02:30']],
  ['0 */2 * * *', autumn, ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T03:00']],
])('[DUE3] "%s" in Berlin after %s', (cron, after, expected) => {
  expect(times(cron, 'Europe/Berlin', after, expected.length)).toEqual(expected)
})

test('[DUE3] the rules hold where clocks change by half an hour, at midnight, or by a day', () => {
  expect(times('15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T16:00:00Z', 2)).toEqual([
    '2026-10-03T15:30',
    '2026-10-04T15:15',
  ])
  expect(times('10 0 * * *', 'America/Sao_Paulo', '2017-10-14T12:00:00Z', 2)).toEqual([
    '2017-10-15T03:00',
    '2017-10-16T02:10',
  ])
  expect(times('0 12 * * *', 'Pacific/Apia', '2011-12-29T12:00:00Z', 3)).toEqual([
    '2011-12-29T22:00',
    '2011-12-30T10:00',
    '2011-12-30T22:00',
  ])
})

/**
 * On days when the clocks change, croner skips `0,30 2 * * *` altogether, and repeats it. Everywhere else, and for one
 * fixed time a day also then, both agree.
 */
test('[DUE3] all other times are those of croner', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata']
  const expressions = ['*/7 * * * *', '0 9 * * MON-FRI', '15 0,12 1 */3 *', '0 0 13 * 5', '30 2 * * *', '5 4 28-31 * *']
  for (const timezone of zones) {
    for (const cron of expressions) {
      const ours = [...cronTimes({ cron, timezone }, new Date('2026-01-31T12:34:56Z')).take(300)]
      const theirs = new Cron(cron, { timezone }).nextRuns(300, new Date('2026-01-31T12:34:56Z'))
      expect(ours.map(String), `${cron} in ${timezone}`).toEqual(theirs.map(String))
    }
  }
})
