const timeFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const dateFormat = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const longFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const relativeFormat = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })
const numberFormat = new Intl.NumberFormat()

export function clockTime(at: string): string {
  const date = new Date(at)
  return Date.now() - date.getTime() < 20 * 3_600_000 ? timeFormat.format(date) : dateFormat.format(date)
}

export const longTime = (at: string): string => longFormat.format(new Date(at))

/** "3 minutes ago", "in 2 hours". */
export function relativeTime(atMs: number, nowMs: number): string {
  const seconds = Math.round((atMs - nowMs) / 1_000)
  const size = Math.abs(seconds)
  if (size < 5) return 'just now'
  if (size < 60) return relativeFormat.format(seconds, 'second')
  if (size < 3_600) return relativeFormat.format(Math.round(seconds / 60), 'minute')
  if (size < 86_400) return relativeFormat.format(Math.round(seconds / 3_600), 'hour')
  return relativeFormat.format(Math.round(seconds / 86_400), 'day')
}

export const count = (value: number): string => numberFormat.format(value)

/** 640 ms, 4.2 s, 3 min 5 s, 2 h. */
export function duration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${Number((ms / 1_000).toFixed(1))} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min${seconds % 60 ? ` ${seconds % 60} s` : ''}`
  const minutes = Math.round(seconds / 60)
  return `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ''}`
}

/** 640 bytes, 4.2 KB, 7.5 MB. */
export function bytes(size: number): string {
  if (size < 1_000) return `${size} bytes`
  return size < 1_000_000 ? `${(size / 1_000).toFixed(1)} KB` : `${(size / 1_000_000).toFixed(1)} MB`
}

export function cost(dollars: number): string {
  if (dollars === 0) return '$0'
  return `$${dollars < 0.01 ? dollars.toFixed(5) : dollars.toFixed(dollars < 1 ? 4 : 2)}`
}

/** AWAITING_APPROVAL → Awaiting approval, LLM_TIMEOUT → Model timeout */
export function words(name: string): string {
  const text = name
    .replaceAll('_', ' ')
    .toLowerCase()
    .replace(/\bllm\b/, 'model')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? ''
}
