/** A cron expression in a time zone. */
export interface CronTimes {
  readonly cron: string
  readonly timezone: string
}

interface Field {
  readonly noun: string
  readonly from: number
  readonly to: number
  readonly names?: readonly string[]
}

const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const dayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

const fields: readonly Field[] = [
  { noun: 'minute', from: 0, to: 59 },
  { noun: 'hour', from: 0, to: 23 },
  { noun: 'day of month', from: 1, to: 31 },
  { noun: 'month', from: 1, to: 12, names: monthNames },
  // 0 and 7 are Sunday.
  { noun: 'day of week', from: 0, to: 7, names: dayNames },
]

function textsOf(cron: string): string[] {
  return cron.trim().split(/\s+/)
}

/** Why a text is not an expression of five fields. Undefined if it is one. */
export function cronFault(cron: string): string | undefined {
  const texts = textsOf(cron)
  if (texts.length !== fields.length)
    return `It has ${texts.length} fields. Expected 5: minute, hour, day of month, month and day of week.`
  const place = fields.findIndex((field, index) => !numbersOf(texts[index], field))
  const field = fields[place]
  return (
    field &&
    `Its field "${texts[place]}" is not a ${field.noun}. Expected *, numbers from ${field.from} to ${field.to}${field.names ? ' or names' : ''}, ranges and steps such as */5 or 1-9/2, separated by commas.`
  )
}

/** The numbers that a field stands for, in ascending order. Undefined if it is wrong. */
function numbersOf(text = '', field: Field): number[] | undefined {
  const numbers = text.split(',').map((item) => {
    const [, all, first, last, step] = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d{1,4}))?$/.exec(item) ?? []
    const from = all ? field.from : numberOf(first, field)
    const to = all ? field.to : last === undefined ? from : numberOf(last, field, { endsRange: true })
    const by = Number(step ?? 1)
    if (from === undefined || to === undefined || from > to || by < 1 || by > field.to) return undefined
    if (step !== undefined && !all && last === undefined) return undefined
    return Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, index) => from + index * by)
  })
  const isWrong = numbers.includes(undefined)
  return isWrong ? undefined : numbers.flatMap((some) => some ?? []).toSorted((one, other) => one - other)
}

/** At the end of a range Sunday is the seventh day. */
function numberOf(text = '', { names = [], from, to }: Field, { endsRange = false } = {}): number | undefined {
  const place = names.indexOf(text.toUpperCase())
  if (place >= 0) return endsRange && place + from === 0 ? 7 : place + from
  const number = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  return number >= from && number <= to ? number : undefined
}

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
/** An expression that has no time within this many days never has one. */
const horizonMs = 3_653 * dayMs

/**
 * The times after `after` that fit the expression, in order. They end where there is none in ten years. A time that
 * daylight saving skips becomes the end of the gap, and one that it repeats counts once, unless the hour is `*` or has a
 * step.
 */
export function* cronTimes({ cron, timezone }: CronTimes, after: Date): Generator<Date, undefined> {
  const zone = offsetsOf(timezone)
  const repeats = /[*/]/.test(textsOf(cron)[1] ?? '')
  for (let from = after.getTime(); ;) {
    // Where the clock was changed, wall times before the current one may still be to come.
    const changed = Math.abs(zone(from + dayMs) - zone(from - dayMs))
    let best = from + horizonMs
    for (const wall of wallTimes(cron, from + zone(from) - changed)) {
      const [first = best, ...repeated] = instantsOf(wall, zone)
      if (first >= best) break
      const times = repeats ? [first, ...repeated] : [first]
      best = Math.min(best, ...times.filter((time) => time > from))
    }
    if (best === from + horizonMs) return undefined
    yield new Date(best)
    from = best
  }
}

/** What a wall clock shows when the expression fits, from a time on, as if the clock showed UTC. */
function* wallTimes(cron: string, from: number): Generator<number, undefined> {
  const texts = textsOf(cron)
  const numbers = fields.map((field, place) => numbersOf(texts[place], field))
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = numbers
  // If the days of the month and those of the week are both given, either suffices.
  const takesEither = texts[2] !== '*' && texts[4] !== '*'
  for (let day = from - (from % dayMs); day <= from + horizonMs; day += dayMs) {
    const date = new Date(day)
    const inMonth = days.includes(date.getUTCDate())
    const inWeek = weekdays.some((weekday) => weekday % 7 === date.getUTCDay())
    const fits = takesEither ? inMonth || inWeek : inMonth && inWeek
    if (!fits || !months.includes(date.getUTCMonth() + 1)) continue
    for (const hour of hours) {
      for (const minute of minutes) {
        const wall = day + (hour * 60 + minute) * minuteMs
        if (wall >= from) yield wall
      }
    }
  }
  return undefined
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
    const [month = 1, day = 1, year = 0, hour = 0, minute = 0, second = 0] = format
      .format(whole)
      .split(/\D+/)
      .map(Number)
    return Date.UTC(year, month - 1, day, hour, minute, second) - whole
  }
}

const wallClock: Intl.DateTimeFormatOptions = {
  hourCycle: 'h23',
  ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
  ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
}

/** The instants at which the wall clock shows a time: one, two, or the end of the gap that skips the time. */
function instantsOf(wall: number, zone: Offsets): number[] {
  const offsets = new Set([zone(wall - dayMs), zone(wall + dayMs)])
  const instants = [...offsets].map((offset) => wall - offset).toSorted((one, other) => one - other)
  const real = instants.filter((instant) => instant + zone(instant) === wall)
  return real.length > 0 ? real : [endOfGap(Math.min(...instants), Math.max(...instants), zone)]
}

/** The instant between the two at which the offset changes. */
function endOfGap(start: number, end: number, zone: Offsets): number {
  let [before, after] = [start, end]
  const offset = zone(after)
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (zone(middle) === offset) after = middle
    else before = middle
  }
  return after
}
