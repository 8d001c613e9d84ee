import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'

import { tour } from './graphiql-tour.ts'
import { icon, iconUrl } from './icon.ts'
import { contentSecurityPolicy } from './pages.ts'

interface GraphiQLPage {
  /** 9 MB as text, so only its packed form is kept. */
  readonly packed: Buffer
  readonly etag: string
  readonly policy: string
}

/** Shows GraphiQL with nothing loaded from elsewhere; made when it is first asked for, then kept. */
export function createGraphiQL(): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  let page: Promise<GraphiQLPage> | undefined
  return async (request, response) => {
    page ??= renderPage()
    const { packed, etag, policy } = await page
    response.setHeader('content-security-policy', policy)
    response.setHeader('etag', etag)
    // Asked again each time, so that a new version is seen at once; unchanged it costs a 304.
    response.setHeader('cache-control', 'no-cache')
    response.setHeader('vary', 'accept, accept-encoding')
    if (request.headers['if-none-match'] === etag) return void response.writeHead(304).end()
    const acceptsGzip = /\bgzip\b/.test(String(request.headers['accept-encoding']))
    const body = acceptsGzip ? packed : await promisify(gunzip)(packed)
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': body.length,
      ...(acceptsGzip && { 'content-encoding': 'gzip' }),
    })
    response.end(body)
  }
}

export function asksForPage(request: IncomingMessage): boolean {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  return isRead && (request.headers.accept?.includes('text/html') ?? false)
}

/**
 * GraphiQL lets tabs be dragged, and leaves on each the offset of an animation that never ran. Under the pointer it takes effect: the
 * tab jumps away, and the first click on it is lost (seen in Chromium 156 with GraphiQL 5).
 */
const tabsStayInPlace = '<style>.graphiql-tab { transform: none !important }</style>'

async function renderPage(): Promise<GraphiQLPage> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const html = renderGraphiQL({
    title: 'Holdpoint',
    defaultTabs: tour.map((tab) => ({ query: tab.query, variables: tab.variables ?? null })),
    // By events rather than WebSocket: GraphiQL sends the header editor's key with every HTTP request, but not in connection_init.
    subscriptionsProtocol: 'SSE',
    // Else keys would be kept in the browser's storage.
    shouldPersistHeaders: false,
    logo: icon,
    favicon: iconUrl,
  }).replace('</head>', `${tabsStayInPlace}</head>`)
  const packed = await promisify(gzip)(html)
  return { packed, etag: `"${hash(html, 'base64url')}"`, policy: pagePolicy(html) }
}

/** The page may run its own script and the workers that it makes, and talk to us: nothing else. */
function pagePolicy(html: string): string {
  const script = html.slice(html.indexOf('<script>') + '<script>'.length, html.lastIndexOf('</script>'))
  return contentSecurityPolicy([
    `script-src 'sha256-${hash(script, 'base64')}' blob:`,
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'font-src data:',
    'img-src data:',
    "connect-src 'self'",
  ])
}

function hash(text: string, encoding: 'base64' | 'base64url'): string {
  return createHash('sha256').update(text).digest(encoding)
}
