import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The id in all log lines about the request: the one that a proxy gave, if it is short and plain. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.:/+=-]{1,128}$/.test(given) ? given : randomUUID()
}
