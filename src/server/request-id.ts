import { randomUUID } from 'node:crypto'

/** The id in all log lines about the request: the one that a proxy gave, if it is short and plain. */
export function requestIdOf(given: string | string[] | null | undefined): string {
  return typeof given === 'string' && /^[\w.:/+=-]{1,128}$/.test(given) ? given : randomUUID()
}
