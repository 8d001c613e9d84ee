import { badUserInput } from '../errors.ts'

export type UsageInterval = 'HOUR' | 'DAY' | 'MONTH' | 'ALL'
export type UsageDimension = 'AGENT' | 'MODEL' | 'ACTOR'

const hourMs = 3_600_000
/** More than a year by hours. */
const maxIntervals = 10_000

/** The time in whole intervals (UTC). */
export function widened(from: Date, to: Date, interval: UsageInterval): { readonly from: Date; readonly to: Date } {
  if (from >= to) throw badUserInput('input.to', `${to.toISOString()} is not after \`from\`. Expected a later time.`)
  const start = startOf(from, interval)
  const last = startOf(new Date(to.getTime() - 1), interval)
  const whole = { from: start, to: nextStart(last, interval) }
  const count = (whole.to.getTime() - start.getTime()) / (interval === 'HOUR' ? hourMs : hourMs * 24)
  if (interval !== 'ALL' && count > maxIntervals)
    throw badUserInput(
      'input.from',
      `There are more than ${maxIntervals} intervals. Expected a shorter time, or a longer interval.`,
    )
  return whole
}

/** The beginning of the hour, day or month (UTC) that a time is in. */
function startOf(time: Date, interval: UsageInterval): Date {
  const [year, month, day, hour] = [time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate(), time.getUTCHours()]
  if (interval === 'MONTH') return new Date(Date.UTC(year, month))
  return new Date(Date.UTC(year, month, day, interval === 'DAY' ? 0 : hour))
}

function nextStart(start: Date, interval: UsageInterval): Date {
  if (interval === 'MONTH') return new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1))
  return new Date(start.getTime() + (interval === 'DAY' ? 24 * hourMs : hourMs))
}
