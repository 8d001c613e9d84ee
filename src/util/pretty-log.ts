import type { DestinationStream } from 'pino'

/** Names of pino's levels and their ANSI colours. */
const levels: Readonly<Record<number, readonly [name: string, colour: number]>> = {
  10: ['trace', 90],
  20: ['debug', 90],
  30: ['info ', 32],
  40: ['warn ', 33],
  50: ['error', 31],
  60: ['fatal', 31],
}

/** Turns JSON lines into readable ones: time, level and message, then the other fields, then the stack of an error. */
export function createPrettyStream(to: DestinationStream): DestinationStream {
  return { write: (line) => to.write(prettyLine(line)) }
}

function prettyLine(line: string): string {
  const { level, time, msg = '', err, ...facts } = JSON.parse(line)
  const [name, colour] = levels[level] ?? [String(level), 0]
  const shown = Object.entries(facts).map(([key, value]) => `${key}=${plain(value)}`)
  const head = `${paint(90, time.slice(11, 23))} ${paint(colour, name)} ${msg}`
  const error = err === undefined ? '' : `\n${paint(90, String(err.stack ?? err.message ?? JSON.stringify(err)))}`
  return `${[head, shown.length > 0 ? paint(90, shown.join(' ')) : ''].filter(Boolean).join('  ')}${error}\n`
}

function plain(value: unknown): string {
  return typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value)
}

function paint(colour: number, text: string): string {
  return `\u001b[${colour}m${text}\u001b[0m`
}
