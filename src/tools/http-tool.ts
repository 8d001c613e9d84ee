import { createHmac } from 'node:crypto'
import { unescape } from 'node:querystring'

import { decodeText, decodeUtf8 } from '../domain/files/charset.ts'
import type { ToolOfKind } from '../domain/tools/tool.ts'
import { isPdf, isTextType, mediaTypeOf } from '../domain/files/media-type.ts'
import { errorMessage } from '../util/error-message.ts'
import type { JsonObject } from '../util/json.ts'
import type { CallContext, ToolOutput } from './execution.ts'
import type { GuardedNetwork } from '../util/network-guard.ts'

const maxRequestBytes = 1024 ** 2
const maxResponseBytes = 10 * 1024 ** 2
const maxRedirects = 5
const maxContextCharacters = 4_096

export interface HttpCall {
  readonly args: JsonObject
  /** The key of the tenant's signatures. */
  readonly secret: string
  readonly context: CallContext
  /** Null if the run is not traced. */
  readonly traceparent?: string | null
  readonly signal: AbortSignal
}

/**
 * Posts the arguments and returns the response body: text, or a file if its type says so. Throws on a status outside
 * 2xx, with the body in the message.
 */
export async function callHttpTool(
  network: GuardedNetwork,
  tool: ToolOfKind<'HTTP'>,
  call: HttpCall,
): Promise<ToolOutput> {
  const body = JSON.stringify(call.args)
  if (Buffer.byteLength(body) > maxRequestBytes)
    throw new Error('The arguments are larger than 1 MB, the most that can be sent.')
  const response = await follow(network, new URL(tool.url), {
    method: 'POST',
    body,
    headers: new Headers({ 'content-type': 'application/json', ...tool.headers }),
    own: ownHeaders(body, call),
    signal: call.signal,
  })
  const bytes = await readBody(response)
  if (response.ok) return toOutput(response.headers, bytes)
  const text = decodeText(bytes, response.headers.get('content-type') ?? '') ?? '(text in an unknown charset)'
  throw new Error(`The tool's server answered ${response.status} ${response.statusText}: ${text}`.trim())
}

/**
 * Headers that say who calls and on whose behalf, and prove it. `holdpoint-signature` covers the timestamp (seconds)
 * and the body, `holdpoint-context-signature` covers the context too. A receiver that also checks the timestamp cannot
 * be sent an old call again.
 */
function ownHeaders(body: string, { secret, context, traceparent }: HttpCall): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const encoded = encodeContext(context)
  const sign = (...parts: string[]) => `v1=${createHmac('sha256', secret).update(parts.join('.')).digest('hex')}`
  return {
    'idempotency-key': context.callId,
    'holdpoint-call': context.callId,
    'holdpoint-run': context.runId,
    'holdpoint-agent': context.agentId,
    'holdpoint-conversation': context.conversationId,
    'holdpoint-timestamp': timestamp,
    'holdpoint-signature': sign(timestamp, body),
    'holdpoint-context': encoded,
    'holdpoint-context-signature': sign(timestamp, encoded, body),
    ...(traceparent ? { traceparent } : {}),
  }
}

/** Many servers accept at most 8 KB of headers, so large metadata is omitted: `metadata` is null then. */
function encodeContext(context: CallContext): string {
  const encoded = Buffer.from(JSON.stringify(context)).toString('base64url')
  if (encoded.length <= maxContextCharacters) return encoded
  return Buffer.from(JSON.stringify({ ...context, metadata: null })).toString('base64url')
}

/** These headers describe the client, so they are sent only to the tool's own origin. */
function withoutContext(own: Hop['own']): Hop['own'] {
  return Object.fromEntries(Object.entries(own).filter(([name]) => !name.startsWith('holdpoint-context')))
}

interface Hop {
  readonly method: 'POST' | 'GET'
  readonly body: string | null
  /** Headers that the tool's owner set. They may be secrets, so they are sent to no other origin. */
  readonly headers: Headers
  readonly own: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

async function follow(network: GuardedNetwork, first: URL, given: Hop): Promise<Response> {
  let url = first
  let hop = given
  for (let redirects = 0; ; redirects += 1) {
    const headers = new Headers(hop.headers)
    for (const [name, value] of Object.entries(hop.own)) headers.set(name, value)
    const { method, body, signal } = hop
    const response = await network.fetch(url, { method, body, headers, signal })
    const location = response.headers.get('location')
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response
    await response.body?.cancel()
    if (redirects === maxRedirects) throw new Error(`The tool's server redirects more than ${maxRedirects} times.`)
    const next = new URL(location, url)
    if (next.origin !== url.origin) {
      const headers = new Headers({ 'content-type': 'application/json' })
      hop = { ...hop, headers, own: withoutContext(hop.own) }
    }
    // Like browsers, repeats a POST only for 307 and 308.
    if (response.status !== 307 && response.status !== 308) hop = { ...hop, method: 'GET', body: null }
    url = next
  }
}

async function readBody(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      if (size > maxResponseBytes) throw new Error("The tool's server answered with more than 10 MB.")
      chunks.push(chunk)
    }
  } catch (error) {
    // This is all that Node says of a body that ends before it is complete.
    if (errorMessage(error) !== 'aborted') throw error
    throw new Error("The tool's server broke off its answer.", { cause: error })
  }
  return Buffer.concat(chunks)
}

/**
 * Images, PDFs, audio and video are files, and so is all other content that is not text, or text that cannot be
 * decoded.
 */
function toOutput(headers: Headers, bytes: Buffer): ToolOutput {
  const contentType = headers.get('content-type') ?? ''
  const mediaType = mediaTypeOf(contentType)
  const isMedia = /^(image|audio|video)\//.test(mediaType) || isPdf(mediaType)
  const text = isTextType(mediaType) ? decodeText(bytes, contentType) : isMedia ? undefined : decodeUtf8(bytes)
  if (text !== undefined || bytes.length === 0) return { ok: true, output: text ?? '' }
  const name = nameIn(headers.get('content-disposition'))
  return { ok: true, output: '', content: [{ bytes, mediaType: contentType, name }] }
}

/** The file name in a `Content-Disposition` header, without folders. */
function nameIn(disposition: string | null): string | null {
  const [, encoded] = /filename\*=utf-8'[^']*'([^;\s]+)/i.exec(disposition ?? '') ?? []
  const [, quoted, bare] = /filename="?(?:([^";]*)"|([^";\s]*))/i.exec(disposition ?? '') ?? []
  // Node reads headers as Latin-1.
  const bytes = Buffer.from(quoted ?? bare ?? '', 'latin1')
  const name = encoded === undefined ? (decodeUtf8(bytes) ?? bytes.toString('latin1')) : unescape(encoded)
  return name.split(/[/\\]/).at(-1)?.trim() || null
}
