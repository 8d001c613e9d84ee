import { createHash } from 'node:crypto'
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

/** A pause sign in a ring: work waits until someone approves it. */
export const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="#c2571a" stroke-width="4">' +
  '<circle cx="16" cy="16" r="13"/><path d="M12.5 11v10M19.5 11v10" stroke-linecap="round"/></svg>'

export const iconUrl = `data:image/svg+xml,${encodeURIComponent(icon)}`

const baseStyle = `
:root { color-scheme: light dark; --ink: #22201d; --soft: #6d675f; --paper: #faf8f5; --card: #fff; --line: #e4dfd7; --accent: #a8480f; --good: #1d6b3a; --bad: #a32020; }
@media (prefers-color-scheme: dark) { :root { --ink: #ece8e1; --soft: #a39c91; --paper: #1a1816; --card: #23201d; --line: #38342f; --accent: #f0915a; --good: #7fce9a; --bad: #f08a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1.0625rem/1.6 system-ui, sans-serif; }
main { max-width: 38rem; }
header { display: flex; align-items: center; gap: .75rem; }
`

interface PageOptions {
  readonly title: string
  /** CSS in addition to what all pages have. */
  readonly style: string
  /** Whether it has a form that is sent to this server. */
  readonly hasForm?: boolean
}

/** A page of HTML that may use its own style and nothing else. */
export function createPage({ title, style: ownStyle, hasForm = false }: PageOptions) {
  const style = baseStyle + ownStyle
  const hash = createHash('sha256').update(style).digest('base64')
  const closed = contentSecurityPolicy([`style-src 'sha256-${hash}'`, 'img-src data:'])
  const policy = hasForm ? closed.replace("form-action 'none'", "form-action 'self'") : closed
  return (response: ServerResponse, status: number, content: string): void => {
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy })
    response.end(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${iconUrl}">
<style>${style}</style>
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`)
  }
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
