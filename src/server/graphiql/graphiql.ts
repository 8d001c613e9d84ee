import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

import Negotiator from 'negotiator'

import { barScript, barStyle, renderBar } from './graphiql-bar.ts'
import { tour } from './graphiql-tour.ts'
import { contentSecurityPolicy, icon, iconUrl } from '../pages/pages.ts'

/** Every response sends the same two buffers, however many clients read it and however slowly. */
interface GraphiQLPage {
  /** 9 MB. */
  readonly html: Buffer
  readonly gzipped: Buffer
  readonly etag: string
  readonly policy: string
}

export const graphiqlIsOff = 'GraphiQL is turned off on this server. Send GraphQL operations to this address by POST.'

/** Serves GraphiQL, which loads nothing from other hosts. The page is built at the first request and then cached. */
export function createGraphiQL(options: {
  readonly hasConsole: boolean
}): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  let page: Promise<GraphiQLPage> | undefined
  return async (request, response) => {
    page ??= renderPage(options)
    const { html, gzipped, etag, policy } = await page
    response.setHeader('content-security-policy', policy)
    response.setHeader('etag', etag)
    // The browser asks each time, so that it sees a new version at once. An unchanged page costs a 304.
    response.setHeader('cache-control', 'no-cache')
    response.setHeader('vary', 'accept, accept-encoding')
    if (request.headers['if-none-match'] === etag) return void response.writeHead(304).end()
    const acceptsGzip = new Negotiator(request).encoding(['gzip', 'identity']) === 'gzip'
    const body = acceptsGzip ? gzipped : html
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
  // A program that accepts anything (`*/*`) gets JSON.
  return isRead && new Negotiator(request).mediaType(['application/json', 'text/html']) === 'text/html'
}

async function renderPage(options: { readonly hasConsole: boolean }): Promise<GraphiQLPage> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const page = renderGraphiQL({
    title: 'Holdpoint',
    defaultTabs: tour.map((tab) => ({ query: tab.query, variables: tab.variables ?? null })),
    // GraphiQL sends the key of its header editor with every HTTP request, but not in the connection_init of a
    // WebSocket.
    subscriptionsProtocol: 'SSE',
    // Subscriptions too: the bar's script reads and changes the bodies of requests.
    method: 'POST',
    // Otherwise the browser's storage would keep keys.
    shouldPersistHeaders: false,
    logo: icon,
    favicon: iconUrl,
  })
  const text = page
    .replace('</head>', () => `${barStyle}</head>`)
    .replace('<div id="root">', () => `${renderBar(options)}<script>${barScript}</script><div id="root">`)
  const html = Buffer.from(text)
  const gzipped = await promisify(gzip)(html)
  return { html, gzipped, etag: `"${hash(text, 'base64url')}"`, policy: pagePolicy(page) }
}

/** The page may run its two scripts and the workers that they make, and may call this server. Nothing else. */
function pagePolicy(graphiql: string): string {
  const script = graphiql.slice(graphiql.indexOf('<script>') + '<script>'.length, graphiql.lastIndexOf('</script>'))
  return contentSecurityPolicy([
    `script-src ${[script, barScript].map((text) => `'sha256-${hash(text, 'base64')}'`).join(' ')} blob:`,
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
