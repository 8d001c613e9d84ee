import type { IncomingMessage, ServerResponse } from 'node:http'

import { ClientError, toClientError } from '../../graphql/errors.ts'
import { answerOf } from '../answer.ts'
import type { Transport } from '../transport.ts'
import { contentSecurityPolicy, isRead, sendClientError } from './pages.ts'

/** A file that the client may read. */
interface OpenedFile {
  /** Identifies the content: other content has another key. */
  readonly key: string
  readonly name: string | null
  readonly mediaType: string
  readonly sizeBytes: number
  read(): Promise<Buffer | undefined>
}

export type OpenFile<Viewer> = (viewer: Viewer, id: string) => Promise<OpenedFile | undefined>

const prefix = '/files/'

export function isFilePath(path: string): boolean {
  return path.startsWith(prefix)
}

/** Types that a browser shows as a picture and that cannot contain a script. All others are downloaded. */
const shownTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/**
 * Sends stored files, which come from clients and tools: whatever a file contains, a browser neither runs it nor
 * guesses its type. Caches must ask again every time, so that a deleted file or a revoked key takes effect.
 */
export function createFiles<Viewer>({ identify, log, keyWatch }: Transport<Viewer>, openFile: OpenFile<Viewer>) {
  return async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    if (!isRead(request, response)) return
    try {
      const { authorization, host } = request.headers
      const viewer = await identify(authorization ?? null, host)
      keyWatch.addAnswer(authorization ?? null, answerOf(response))
      const id = path.slice(prefix.length)
      const file = await openFile(viewer, id)
      if (!file) throw notFound(id)
      await send(request, response, file, id)
    } catch (error) {
      sendClientError(response, toClientError(error, log))
    }
  }
}

async function send(request: IncomingMessage, response: ServerResponse, file: OpenedFile, id: string): Promise<void> {
  const etag = `"${file.key}"`
  const headers = {
    'cache-control': 'private, no-cache',
    'content-disposition': disposition(file),
    'content-security-policy': contentSecurityPolicy(['sandbox']),
    etag,
  }
  response.appendHeader('vary', 'authorization')
  if (matches(request.headers['if-none-match'], etag)) {
    response.writeHead(304, headers).end()
    return
  }
  const bytes = request.method === 'HEAD' ? undefined : await file.read()
  if (!bytes && request.method !== 'HEAD') throw notFound(id)
  response.writeHead(200, { ...headers, 'content-type': typeOf(file), 'content-length': file.sizeBytes })
  response.end(bytes)
}

function matches(given: string | undefined, etag: string): boolean {
  return (given ?? '').split(',').some((one) => [etag, `W/${etag}`, '*'].includes(one.trim()))
}

/** Text is stored as UTF-8. */
function typeOf({ mediaType }: OpenedFile): string {
  return mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType
}

/** A name may contain anything. Programs that do not know `filename*` get it in plain ASCII. */
function disposition({ name, mediaType }: OpenedFile): string {
  const kind = shownTypes.has(mediaType) ? 'inline' : 'attachment'
  if (name === null) return kind
  const plain = name.replaceAll(/[^\w. -]/g, '_')
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`
}

function notFound(id: string): ClientError {
  return new ClientError('NOT_FOUND', `There is no file with the id ${id}.`)
}
