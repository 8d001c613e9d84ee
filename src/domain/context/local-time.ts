/** Kept by time zone, because making one takes longer than the rest of a prompt. */
const formats = new Map<string, Intl.DateTimeFormat>()

function partsOf(time: Date, timeZone: string): Record<string, string> {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en', {
      timeZone,
      weekday: 'long',
      ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
      ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
    })
  formats.set(timeZone, format)
  return Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]))
}

const quarterHourMs = 15 * 60_000
/** The day that was last asked for, by time zone. In every zone, days begin on a quarter of an hour. */
const days = new Map<string, { readonly quarter: number; readonly day: string }>()

/** Monday, 2026-11-16 */
export function dayOf(time: Date, timeZone: string): string {
  const quarter = Math.floor(time.getTime() / quarterHourMs)
  const known = days.get(timeZone)
  if (known?.quarter === quarter) return known.day
  const { weekday, year, month, day } = partsOf(time, timeZone)
  const written = `${weekday}, ${year}-${month}-${day}`
  days.set(timeZone, { quarter, day: written })
  return written
}

/** 2026-11-16 21:19:05 (Europe/Berlin) */
export function timeOf(time: Date, timeZone: string): string {
  const { year, month, day, hour, minute, second } = partsOf(time, timeZone)
  return `${year}-${month}-${day} ${hour}:${minute}:${second} (${timeZone})`
}
