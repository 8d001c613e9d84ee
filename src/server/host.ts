import { isIPv4, isIPv6 } from 'node:net'

/** A `Host` header that names a host: in lower case, without the brackets of an IPv6 address. */
export interface Host {
  readonly name: string
  /** Undefined if the header has no port. */
  readonly port: number | undefined
}

export const badHost = 'The `Host` header must be a host name or an IP address, with an optional port.'

/** Reads a `Host` header. Undefined if it is not a host name or IP address with an optional port. */
export function parseHost(header: string): Host | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(header) ?? []
  const port = digits === undefined ? undefined : Number(digits)
  if (port !== undefined && port > 65_535) return undefined
  if (bracketed !== undefined) return isIPv6(bracketed) ? { name: bracketed.toLowerCase(), port } : undefined
  if (plain === undefined || !isHostName(plain)) return undefined
  return { name: plain.toLowerCase(), port }
}

const label = /^[a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?$/i

/** A name whose last label is a number is an IPv4 address to every URL parser, so it must be a complete one. */
function isHostName(text: string): boolean {
  const labels = text.replace(/\.$/, '').split('.')
  if (text.length > 253 || !labels.every((one) => label.test(one))) return false
  return /^(\d+|0x[\da-f]*)$/i.test(labels.at(-1)!) ? isIPv4(text) : true
}

/**
 * Whether the client used an IP address or a loopback name. A hostile site can make its own name resolve to 127.0.0.1
 * and then call this server as its own origin (DNS rebinding). It cannot do that with an IP address or with
 * `localhost`.
 */
export function isAddress({ name }: Host): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || isIPv4(name) || isIPv6(name)
}
