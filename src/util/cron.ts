import { Cron } from 'croner'

/** A cron expression in a time zone. */
export interface CronTimes {
  readonly cron: string
  readonly timezone: string
}

const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const dayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

interface Field {
  readonly noun: string
  readonly from: number
  readonly to: number
  readonly names?: readonly string[]
}

const fields: readonly Field[] = [
  { noun: 'minute', from: 0, to: 59 },
  { noun: 'hour', from: 0, to: 23 },
  { noun: 'day of month', from: 1, to: 31 },
  { noun: 'month', from: 1, to: 12, names: monthNames },
  { noun: 'day of week', from: 0, to: 7, names: dayNames },
]

/** Why a text is not an expression of five fields. Undefined if it is one. */
export function cronFault(cron: string): string | undefined {
  const given = cron.trim().split(/\s+/)
  if (given.length !== fields.length)
    return `It has ${given.length} fields. Expected 5: minute, hour, day of month, month and day of week.`
  for (const [place, text] of given.entries()) {
    const field = fields[place]!
    if (text.split(',').every((item) => isItem(item, field))) continue
    return `Its field "${text}" is not a ${field.noun}. Expected *, numbers from ${field.from} to ${field.to}${field.names ? ' or names' : ''}, ranges and steps such as */5 or 1-9/2, separated by commas.`
  }
  return undefined
}

function isItem(item: string, field: Field): boolean {
  const match = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d{1,4}))?$/.exec(item)
  if (!match) return false
  const [, all, first, last, step] = match
  if (step !== undefined && (Number(step) < 1 || Number(step) > field.to || (!all && last === undefined))) return false
  if (all) return true
  const from = numberOf(first!, field)
  const to = last === undefined ? from : numberOf(last, field, { endsRange: true })
  return from !== undefined && to !== undefined && from <= to
}

/** At the end of a range Sunday is the seventh day. */
function numberOf(text: string, { names = [], from, to }: Field, { endsRange = false } = {}): number | undefined {
  const place = names.indexOf(text.toUpperCase())
  if (place >= 0) return endsRange && place + from === 0 ? 7 : place + from
  const number = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  return number >= from && number <= to ? number : undefined
}

/** With numbers instead of names, which croner reads differently in ranges. */
function withNumbers(cron: string): string {
  const given = cron.trim().split(/\s+/)
  return given
    .map((text, place) =>
      text.replaceAll(/(-?)([a-z]+)/gi, (_all, dash: string, name: string) => {
        const number = numberOf(name, fields[place]!, { endsRange: dash !== '' })
        return `${dash}${number}`
      }),
    )
    .join(' ')
}

const dayMs = 24 * 60 * 60 * 1_000
/** An expression that has no time within this many days never has one. */
const horizonMs = 3_653 * dayMs

/**
 * The times after `after` that fit the expression, in order. They end where there is none in ten years.
 *
 * Which times of the wall clock fit is croner's answer. What daylight saving makes of them is decided here, because
 * croner skips some times that do not exist and repeats some that exist twice: a time that is skipped becomes the end of
 * the gap, and one that is repeated counts once, unless the hour is `*` or has a step.
 */
export function* cronTimes({ cron, timezone }: CronTimes, after: Date): Generator<Date, undefined> {
  const zone = offsetsOf(timezone)
  const wallTimes = new Cron(withNumbers(cron), { utcOffset: 0 })
  const repeats = /[*/]/.test(cron.trim().split(/\s+/)[1]!)
  const timesOf = (wall: Date) => {
    const times = instantsOf(wall.getTime(), zone)
    return repeats ? times : times.slice(0, 1)
  }
  for (let from = after.getTime(); ;) {
    // Where the clock was changed, wall times before the current one may still be to come.
    const changed = Math.abs(zone(from + dayMs) - zone(from - dayMs))
    let best = from + horizonMs
    let wall: Date | null = new Date(from + zone(from) - changed - 1)
    while ((wall = wallTimes.nextRun(wall)) && timesOf(wall)[0]! < best) {
      best = Math.min(best, ...timesOf(wall).filter((time) => time > from))
    }
    if (best === from + horizonMs) return undefined
    yield new Date(best)
    from = best
  }
}

type Offsets = (instant: number) => number

/** Making one takes a thousand times longer than using it. There are a few hundred zones. */
const formats = new Map<string, Intl.DateTimeFormat>()

/** How far a zone's wall clock is ahead of UTC at an instant, in milliseconds. */
function offsetsOf(timeZone: string): Offsets {
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('en-US', { ...wallClock, timeZone })
  formats.set(timeZone, format)
  return (instant) => {
    const whole = Math.floor(instant / 1_000) * 1_000
    const [month, day, year, hour, minute, second] = format.format(whole).split(/\D+/).map(Number)
    return Date.UTC(year!, month! - 1, day, hour, minute, second) - whole
  }
}

const wallClock: Intl.DateTimeFormatOptions = {
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
}

/** The instants at which the wall clock shows a time: one, two, or the end of the gap that skips the time. */
function instantsOf(wall: number, zone: Offsets): number[] {
  const offsets = new Set([zone(wall - dayMs), zone(wall + dayMs)])
  const instants = [...offsets].map((offset) => wall - offset)
  const real = instants.filter((instant) => instant + zone(instant) === wall).toSorted((one, other) => one - other)
  return real.length > 0
    ? real
    : [
        endOfGap(
          instants.toSorted((one, other) => one - other),
          zone,
        ),
      ]
}

/** The instant between the two at which the offset changes. */
function endOfGap(instants: readonly number[], zone: Offsets): number {
  let [before, after] = [instants[0]!, instants.at(-1)!]
  const offset = zone(after)
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (zone(middle) === offset) after = middle
    else before = middle
  }
  return after
}
