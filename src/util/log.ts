import { pino, type DestinationStream, type Logger } from 'pino'

import { errorMessage } from './error-message.ts'
import { currentLogIds } from './log-context.ts'

export type Log = Logger

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/**
 * Writes to stderr: readable lines in a terminal, JSON lines anywhere else. Stdout carries only the output of commands.
 */
export function createLog(level: LogLevel, destination: DestinationStream = standardError()): Log {
  const options = { base: null, timestamp: pino.stdTimeFunctions.isoTime, mixin: currentLogIds }
  return pino({ level, ...options, serializers: { err: shownError } }, destination)
}

/** Whoever throws something that cannot be read must not make the log throw too. */
function shownError(error: Error): object {
  try {
    return pino.stdSerializers.err(error)
  } catch {
    return { message: errorMessage(error) }
  }
}

function standardError(): DestinationStream {
  const stderr = pino.destination({ dest: 2, sync: true })
  return process.stderr.isTTY ? createPrettyStream(stderr) : stderr
}

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
