import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { contentSecurityPolicy } from './pages.ts'

/** Where `npm ci` puts the console that it builds. */
const consoleFolder = fileURLToPath(new URL('../../../console/dist/', import.meta.url))

/** The first part of every address that the console shows a page for. */
const pages = [
  ...['', 'agents', 'conversations', 'inbox', 'runs', 'schedules', 'usage', 'budgets'],
  ...['tools', 'memory', 'webhooks', 'settings'],
]

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/**
 * The console may run its own scripts and styles and call this server, nothing else. Pictures that the server stores
 * need the key, so the console fetches them and shows them from memory (`blob:`).
 */
const policy = contentSecurityPolicy([
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
])

interface File {
  readonly type: string
  readonly etag: string
  /** The name of the file carries a hash of its content, so it never changes. */
  readonly isHashed: boolean
  /** The content by its encoding. */
  readonly bodies: Readonly<Record<'br' | 'gzip', Buffer | undefined>> & { readonly identity: Buffer }
}

export interface Console {
  /** False if the console has nothing at this path, or was not built. */
  send(path: string, request: IncomingMessage, response: ServerResponse): Promise<boolean>
  /** Sends the console, which says that there is no such page. False if it was not built. */
  sendNotFound(request: IncomingMessage, response: ServerResponse): Promise<boolean>
}

/**
 * Serves the built console and documentation from a folder. Its files are read once, when the first of them is asked
 * for.
 */
export function createConsole(folder: string = consoleFolder): Console {
  let loaded: Promise<ReadonlyMap<string, File>> | undefined
  const find = async (path: string): Promise<File | undefined> => (await (loaded ??= load(folder))).get(path)
  return {
    async send(path, request, response) {
      const [, first = ''] = path.split('/')
      const isPage = pages.includes(first)
      if (!isPage && first !== 'assets' && first !== 'docs' && path !== '/icon.svg') return false
      const file = await find(isPage ? '/index.html' : fileOf(path))
      if (file) sendFile(file, request, response)
      return file !== undefined
    },
    async sendNotFound(request, response) {
      const file = await find('/index.html')
      if (file) sendFile(file, request, response, 404)
      return file !== undefined
    },
  }
}

/** Paths of documentation pages have no file extension. */
function fileOf(path: string): string {
  if (path === '/docs' || path === '/docs/') return '/docs/index.html'
  return path.startsWith('/docs/') && !path.includes('.') ? `${path}.html` : path
}

async function load(folder: string): Promise<ReadonlyMap<string, File>> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const read = (name: string): Promise<Buffer | undefined> => readFile(join(folder, name)).catch(() => undefined)
  const files = names.map(async (name): Promise<readonly [string, File] | undefined> => {
    const type = types[extname(name)]
    if (!type) return undefined
    const [identity, br, gzip] = await Promise.all([read(name), read(`${name}.br`), read(`${name}.gz`)])
    if (!identity) return undefined
    const path = `/${name.replaceAll('\\', '/')}`
    const etag = `"${createHash('sha256').update(identity).digest('base64url')}"`
    return [path, { type, etag, isHashed: path.startsWith('/assets/'), bodies: { br, gzip, identity } }]
  })
  return new Map((await Promise.all(files)).filter((file) => file !== undefined))
}

function sendFile(
  { type, etag, isHashed, bodies }: File,
  request: IncomingMessage,
  response: ServerResponse,
  status: 200 | 404 = 200,
): void {
  const accepted = String(request.headers['accept-encoding'])
  const encoding = (['br', 'gzip'] as const).find((name) => bodies[name] && new RegExp(`\\b${name}\\b`).test(accepted))
  response.setHeader('content-security-policy', policy)
  response.setHeader('etag', etag)
  response.setHeader('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
  response.setHeader('vary', 'accept-encoding')
  if (status === 200 && request.headers['if-none-match'] === etag) return void response.writeHead(304).end()
  const body = bodies[encoding ?? 'identity'] ?? bodies.identity
  response.writeHead(status, {
    'content-type': type,
    'content-length': body.length,
    ...(encoding && { 'content-encoding': encoding }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
