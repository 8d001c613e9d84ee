import { pino, type Logger } from 'pino'

export type Log = Logger

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** Writes JSON lines to stderr. Stdout has only what the commands print. */
export function createLog(level: LogLevel): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  )
}
