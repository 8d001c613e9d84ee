import { setTimeout as sleep } from 'node:timers/promises'

import type { ModelRequest } from '../domain/models/model-request.ts'
import { currentLog } from '../util/log-context.ts'
import { limitResponse } from './response-limits.ts'

/**
 * Options of both SDKs. They retry temporary failures (429, 5xx, no connection) until the first byte has arrived. They
 * ignore the abort signal between two attempts, so every call is wrapped in `abortable`.
 */
export const sdkOptions = {
  maxRetries: 2,
  // The SDKs' own variables would turn on logs that contain request headers.
  logLevel: 'off',
  fetch: guardedFetch,
} as const

/** A model that has a fallback is not asked twice. */
export function requestOptions({ hasFallback }: ModelRequest, signal: AbortSignal) {
  return hasFallback ? { signal, maxRetries: 0 } : { signal }
}

const longestWaitMs = 30_000

/**
 * `fetch` with limits on the response. A provider may ask us to wait for an hour. That is reported as an error instead
 * of waiting, because a waiting run does not say why.
 */
async function guardedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  logRetry(init?.headers)
  const response = limitResponse(await fetch(input, init))
  if (!response.ok && askedWaitMs(response.headers) > longestWaitMs) response.headers.set('x-should-retry', 'false')
  return response
}

/**
 * `fetch` that retries temporary failures after the wait that the provider asks for, for an SDK that does not retry by
 * itself.
 */
export function retryingFetch({ attempts, signal }: { readonly attempts: number; readonly signal?: AbortSignal }) {
  return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    for (let attempt = 1; ; attempt += 1) {
      const response = await guardedFetch(input, init).catch((error: unknown) => {
        if (attempt >= attempts || signal?.aborted) throw error
      })
      if (response && (attempt >= attempts || !mayPass(response))) return response
      await response?.body?.cancel()
      const asked = response ? askedWaitMs(response.headers) : Number.NaN
      await sleep(asked >= 0 ? asked : 500 * 2 ** (attempt - 1), undefined, signal ? { signal } : {})
      currentLog()?.warn({ retry: attempt }, 'a request to a model failed and is retried')
    }
  }
}

function mayPass({ status, headers }: Response): boolean {
  return (status === 408 || status === 429 || status >= 500) && headers.get('x-should-retry') !== 'false'
}

/** The SDKs number their attempts in a header. */
function logRetry(headers: RequestInit['headers']): void {
  const given = headers instanceof Headers ? headers : new Headers(headers)
  const retry = Number(given.get('x-stainless-retry-count') ?? 0)
  if (retry > 0) currentLog()?.warn({ retry }, 'a request to a model failed and is retried')
}

function askedWaitMs(headers: Headers): number {
  const ms = headers.get('retry-after-ms')
  if (ms !== null) return Number(ms)
  const after = headers.get('retry-after') ?? ''
  return /^[\d.]+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now()
}
