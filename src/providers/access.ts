/** Where a provider's API is and the key for it; undefined: the provider's own address, no key. */
export interface Access {
  readonly apiKey: string | undefined
  readonly baseUrl: string | undefined
}

/** What both SDKs are made with. They retry what may pass (429, 5xx, no connection) until the first byte came. */
export const sdkOptions = {
  maxRetries: 2,
  // They would log request headers at the debug level, which their own variables turn on.
  logLevel: 'off',
  fetch: fetchWithoutLongWaits,
} as const

const longestWaitMs = 30_000

/**
 * A provider may ask to be left alone for an hour. That is an error for the run's owner to see, not a wait: a run
 * that waits tells nobody why.
 */
async function fetchWithoutLongWaits(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init)
  if (response.ok || !(askedWaitMs(response.headers) > longestWaitMs)) return response
  const headers = new Headers(response.headers)
  headers.set('x-should-retry', 'false')
  // What fetch has already unpacked must not be announced as packed.
  headers.delete('content-encoding')
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
}

function askedWaitMs(headers: Headers): number {
  const ms = headers.get('retry-after-ms')
  if (ms !== null) return Number(ms)
  const after = headers.get('retry-after') ?? ''
  return /^[\d.]+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now()
}

/** Settles with the promise, or rejects once the signal is aborted: an SDK's wait between retries may not look at it. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  promise.catch(() => undefined)
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
