import { pino, type DestinationStream, type Logger } from 'pino'

import { errorMessage } from './error-message.ts'
import { currentLogIds } from './log-context.ts'
import { createPrettyStream } from './pretty-log.ts'

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
