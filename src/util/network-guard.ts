import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { Readable } from 'node:stream'

import { errorMessage } from './error-message.ts'

/** How long the check of an address waits for its name to be resolved. */
const resolveMs = 1_000
/** Interim responses, such as 103, before the response. */
const maxInterim = 100

/**
 * Ranges that are not the public internet: private, loopback, link-local, shared, documentation, multicast, reserved.
 */
const closedRanges = {
  ipv4: [
    ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
    ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
    ...['224.0.0.0/4', '240.0.0.0/4'],
  ],
  // Ranges that contain an IPv4 address (translated, 6to4, Teredo) are blocked completely.
  ipv6: [
    ...['::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/23', '2001:db8::/32'],
    ...['2002::/16', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
  ],
} as const

const closed = new BlockList()
for (const family of ['ipv4', 'ipv6'] as const) {
  for (const range of closedRanges[family]) {
    const [address = '', prefix] = range.split('/')
    closed.addSubnet(address, Number(prefix), family)
  }
}

/** Whether an address belongs to the public internet. An IPv4 address written as IPv6 is checked as IPv4. */
export function isPublicAddress(address: string): boolean {
  const plain = address.replaceAll(/^\[|\]$/g, '').replace(/%.*$/, '')
  const family = isIP(plain)
  return family !== 0 && !closed.check(plain, family === 4 ? 'ipv4' : 'ipv6')
}

export class PrivateAddressError extends Error {
  constructor(host: string) {
    super(`${host} is not an address of the public internet, and this server connects to no other.`)
    this.name = 'PrivateAddressError'
  }
}

/** A failure in words for whoever runs or configures the server. Models are told only the message itself. */
export function toldToOperators(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof PrivateAddressError)
      return `${errorMessage(error)} HOLDPOINT_ALLOW_PRIVATE_NETWORK=1 allows such addresses.`
  }
  return errorMessage(error)
}

export interface GuardedNetwork {
  /** Like the global `fetch`, but does not follow redirects: the caller does, so that every hop is checked. */
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>
  /** The error that a request to this URL would get now. Undefined also if the name cannot be resolved in time. */
  readonly refusalOf: (url: string) => Promise<PrivateAddressError | undefined>
  close(): void
}

export interface GuardOptions {
  readonly allowPrivate: boolean
  /** Resolves host names. Defaults to the system's resolver. */
  readonly lookup?: (
    host: string,
    options: { readonly all: true },
    callback: (error: Error | null, addresses: LookupAddress[]) => void,
  ) => void
}

/**
 * HTTP that connects only to public addresses. A name is resolved once, and the connection goes to the address that was
 * checked, so a name server cannot give another answer in between.
 */
export function createNetworkGuard({ allowPrivate, lookup = systemLookup }: GuardOptions): GuardedNetwork {
  const guardedLookup: LookupFunction = (host, options, callback) => {
    lookup(host, { all: true }, (error, addresses) => {
      if (error) return callback(error, '')
      const usable = addresses.filter(({ address }) => allowPrivate || isPublicAddress(address))
      const [first] = usable
      if (!first) return callback(new PrivateAddressError(host), '')
      if (options.all) callback(null, usable)
      else callback(null, first.address, first.family)
    })
  }
  // This timeout closes unused connections. The caller decides how long a response may take.
  const agentOptions = { keepAlive: true, timeout: 30_000, lookup: guardedLookup }
  const agents = { 'http:': new HttpAgent(agentOptions), 'https:': new HttpsAgent(agentOptions) }

  async function guardedFetch(given: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = new URL(given)
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`${url.protocol} is not HTTP.`)
    const host = hostOf(url)
    // A literal address is never resolved, so it is checked here.
    if (isIP(host) !== 0 && !allowPrivate && !isPublicAddress(host)) throw new PrivateAddressError(host)
    init.signal?.throwIfAborted()
    const body = await bytesOf(init.body)
    const headers = Object.fromEntries(new Headers(init.headers))
    const options = {
      method: init.method ?? 'GET',
      agent: agents[url.protocol],
      headers: { 'accept-encoding': 'identity', ...headers, ...(body && { 'content-length': String(body.length) }) },
      ...(init.signal && { signal: init.signal }),
    }
    const request = url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options)
    return toWebResponse(await responseOf(request, body))
  }

  async function refusalOf(url: string): Promise<PrivateAddressError | undefined> {
    if (allowPrivate) return undefined
    const { promise, resolve } = Promise.withResolvers<PrivateAddressError | undefined>()
    const timer = setTimeout(() => resolve(undefined), resolveMs)
    guardedLookup(hostOf(new URL(url)), { all: true }, (error) =>
      resolve(error instanceof PrivateAddressError ? error : undefined),
    )
    return promise.finally(() => clearTimeout(timer))
  }

  return {
    fetch: guardedFetch,
    refusalOf,
    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

async function bytesOf(body: RequestInit['body']): Promise<Buffer | undefined> {
  if (body === undefined || body === null) return undefined
  return typeof body === 'string' ? Buffer.from(body) : Buffer.from(await new Response(body).arrayBuffer())
}

function hostOf(url: URL): string {
  return url.hostname.replaceAll(/^\[|\]$/g, '')
}

function responseOf(request: ClientRequest, body: Buffer | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let interim = 0
    request.on('information', () => {
      interim += 1
      if (interim > maxInterim) request.destroy(new Error('The server sent too many interim responses.'))
    })
    request.on('upgrade', (_response, socket) => {
      socket.destroy()
      reject(new Error('The server answered 101 and switched to another protocol.'))
    })
    request.on('response', resolve)
    request.on('error', reject)
    // Nothing else may leave the caller waiting.
    request.on('close', () => reject(new Error('The server closed the connection without an answer.')))
    request.end(body)
  })
}

/** Statuses with which a response has no body, whatever the server sends. */
const bodiless = new Set([204, 205, 304])

function toWebResponse(message: IncomingMessage): Response {
  const status = message.statusCode ?? 0
  const headers = new Headers()
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value)
  }
  // A reader of the body gets this error from the stream. Without a reader it must not end the process.
  message.on('error', () => undefined)
  const isValid = status >= 200 && status <= 599
  const fault = compressionFault(headers)
  const isRead = isValid && fault === undefined && !bodiless.has(status)
  // A body that nobody reads may be endless.
  if (!isRead) message.destroy()
  if (!isValid) throw new Error(`The server answered with the status ${status}.`)
  const body = isRead
    ? (Readable.toWeb(message) as ReadableStream<Uint8Array<ArrayBuffer>>)
    : bodiless.has(status)
      ? null
      : new ReadableStream<Uint8Array<ArrayBuffer>>({ start: (controller) => controller.error(fault) })
  return new Response(body, { status, statusText: printable(message.statusMessage ?? ''), headers })
}

function compressionFault(headers: Headers): Error | undefined {
  // Some servers write something else into this header, such as the charset.
  const [coding] = /gzip|deflate|br|zstd|compress/i.exec(headers.get('content-encoding') ?? '') ?? []
  return coding === undefined
    ? undefined
    : new Error(`The server compressed its answer (${coding}), although the request did not allow it.`)
}

/** What the reason phrase of a response may consist of. */
function printable(text: string): string {
  return text.replaceAll(/[^\t\u0020-\u007e\u0080-\u00ff]/g, '')
}
