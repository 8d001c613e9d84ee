import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'

/**
 * Decides which web pages may use the API. A browser lets any page send requests to any server, and tells where the
 * page came from. Clients that are not browsers send neither `Origin` nor `Sec-Fetch-Site`.
 */
export interface Origins {
  /** Why the request is refused, or undefined if its page may use the API. */
  refusalOf(headers: IncomingHttpHeaders): string | undefined
  /** Adds the CORS headers if the page has an allowed origin. Returns true if this answered a preflight request. */
  answerCors(request: IncomingMessage, response: ServerResponse): boolean
  /** Whether the client reached the server by a name that nobody else controls. */
  isTrustedHost(header: string | undefined): boolean
}

/** `allowed` has the origins of HOLDPOINT_ALLOWED_ORIGINS. The server's own origin is always allowed. */
export function createOrigins(allowed: readonly string[]): Origins {
  const allowedOrigins = new Set(allowed)
  const allowedHosts = new Set(allowed.map((origin) => new URL(origin).hostname))

  function refusalOf(headers: IncomingHttpHeaders): string | undefined {
    const { origin, 'sec-fetch-site': site } = headers
    // No page can set this header itself. It is correct even behind proxies that change `Host`.
    if (site === 'same-origin') return undefined
    if (origin === undefined) {
      if (site === undefined || site === 'none') return undefined
      return 'Pages of other sites may not use this server without CORS. To allow a site, add its origin to HOLDPOINT_ALLOWED_ORIGINS.'
    }
    if (allowedOrigins.has(origin) || isOwn(origin, headers.host)) return undefined
    return `Pages of ${origin} may not use this server. To allow them, add that origin to HOLDPOINT_ALLOWED_ORIGINS.`
  }

  function answerCors({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
    const { origin } = headers
    if (allowedOrigins.size > 0) response.appendHeader('vary', 'origin')
    if (origin === undefined || !allowedOrigins.has(origin)) return false
    response.setHeader('access-control-allow-origin', origin)
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false
    response.writeHead(204, {
      'access-control-allow-methods': 'GET, POST',
      // The API uses no cookies, so an allowed page may send whatever headers its client library adds.
      'access-control-allow-headers': headers['access-control-request-headers'] ?? 'authorization, content-type',
      'access-control-max-age': '600',
    })
    response.end()
    return true
  }

  function isTrustedHost(header: string | undefined): boolean {
    const host = header === undefined ? undefined : parseHost(header)
    return host !== undefined && (isAddress(host) || allowedHosts.has(host.name))
  }

  return { refusalOf, answerCors, isTrustedHost }
}

/** The scheme is not compared, because behind a proxy that ends TLS the server does not know its own. */
function isOwn(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase()
}

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
  return /^(\d+|0x[\da-f]*)$/i.test(labels.at(-1) ?? '') ? isIPv4(text) : true
}

/**
 * Whether the client used an IP address or a loopback name. A hostile site can make its own name resolve to 127.0.0.1
 * and then call this server as its own origin (DNS rebinding). It cannot do that with an IP address or with
 * `localhost`.
 */
function isAddress({ name }: Host): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || isIPv4(name) || isIPv6(name)
}
