import type { IncomingMessage } from 'node:http'

/**
 * Browsers let any page open a WebSocket to any server and say where the page came from. Only our own pages may; clients that are no
 * browsers send no Origin.
 */
export function originAllowed({ headers }: IncomingMessage): boolean {
  if (headers.origin === undefined) return true
  try {
    return new URL(headers.origin).host === headers.host?.toLowerCase()
  } catch {
    return false
  }
}

/**
 * Whether the client reached us by an address or a loopback name. A page of a hostile site can make its own name resolve to
 * 127.0.0.1 and then talk to us as its own origin (DNS rebinding); a number or `localhost` can't be made to resolve to anything.
 */
export function reachedByAddress(host: string | undefined): boolean {
  const name = host?.toLowerCase().replace(/:\d+$/, '') ?? ''
  return (
    name === 'localhost' || name.endsWith('.localhost') || /^(\d+\.){3}\d+$/.test(name) || /^\[[\d.:a-f]+\]$/.test(name)
  )
}
