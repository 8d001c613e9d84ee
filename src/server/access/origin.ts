import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'

import { isAddress, parseHost } from '../host.ts'

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
