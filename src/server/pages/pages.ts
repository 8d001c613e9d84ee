import type { IncomingMessage, ServerResponse } from 'node:http'

import { statusOf, type ClientError, type ClientErrorCode } from '../../graphql/errors.ts'

/** Sent with every response. A page adds what it needs to the policy. No page may be shown in a frame. */
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

/** Sends an error in the shape of a GraphQL error, so that a client with a wrong URL can read it. */
export function sendError(
  response: ServerResponse,
  status: number,
  message: string,
  code: ClientErrorCode = 'BAD_REQUEST',
): void {
  sendJson(response, status, { errors: [{ message, extensions: { code } }] })
}

/** The same error as the answer to a whole GraphQL request. */
export function sendClientError(response: ServerResponse, error: ClientError): void {
  const { status, headers = {} } = statusOf(error)
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  sendJson(response, status, { errors: [error] })
}

/** False if the method is neither GET nor HEAD; then this has answered 405. */
export function isRead(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return true
  response.setHeader('allow', 'GET, HEAD')
  sendError(response, 405, 'This address answers GET and HEAD only.')
  return false
}
