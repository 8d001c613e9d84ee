import type { IncomingMessage, ServerResponse } from 'node:http'

/** On every answer. Pages widen the policy by what they need themselves; nothing of ours may be framed. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy([]),
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

export function contentSecurityPolicy(directives: readonly string[]): string {
  const closed = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
  return [...closed, ...directives].join('; ')
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body))
}

/** In the shape of a GraphQL error, so that a client that came to a wrong address can read it as one. */
export function sendError(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] })
}

/** False after having answered 405. */
export function isRead(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return true
  response.setHeader('allow', 'GET, HEAD')
  sendError(response, 405, 'This address can be read only.')
  return false
}
