import { LRUCache } from 'lru-cache'

import type { RateLimit } from '../../graphql/context.ts'
import { ClientError } from '../../graphql/errors.ts'
import type { Limits } from './limits.ts'

/** The counters that requests count towards. */
export interface Client {
  /** The key or person, within its tenant. */
  readonly id: string
  readonly tenantId: string
}

/** Limits per key and per tenant, the same on every transport. Each process counts for itself. */
export interface ClientLimits {
  /**
   * Counts a request before its key is looked up, so that a refusal costs almost nothing. `authorization` is what the
   * client sent, null without a key. Throws RATE_LIMITED, or UNAVAILABLE while the server is overloaded.
   */
  takeRequest(authorization: string | null): void
  /** Counts a request of a known client. Throws RATE_LIMITED. */
  takeRequestOfTenant(client: Client): void
  /** The limit of a key's requests, and what is left of it now. Null if there is none. */
  requestsOf(authorization: string | null): Pick<RateLimit, 'requestsPerSecond' | 'remaining'>
  /** Throws TOO_MANY_OPERATIONS. Call the returned function once, when the socket has closed. */
  openSocket(client: Client): () => void
  /** Throws TOO_MANY_OPERATIONS. Call the returned function once, when the stream has ended. */
  openSubscription(client: Client): () => void
}

type Limited = Pick<Limits, 'keyRequests' | 'keySockets' | 'keySubscriptions' | 'tenantRequests'>

export function createClientLimits(limits: Limited, isOverloaded: () => boolean): ClientLimits {
  const ofKey = createRate(limits.keyRequests)
  const ofTenant = createRate(limits.tenantRequests)
  const sockets = createCounter(limits.keySockets, 'open sockets')
  const subscriptions = createCounter(limits.keySubscriptions, 'open subscriptions')
  return {
    takeRequest(authorization) {
      ofKey.take(authorization ?? '', 'This key sends')
      if (isOverloaded()) {
        const message = 'The server is overloaded at the moment. Try again.'
        throw new ClientError('UNAVAILABLE', message, { http: { status: 503, headers: retryAfter } })
      }
    },
    takeRequestOfTenant({ tenantId }) {
      ofTenant.take(tenantId, 'The keys of this tenant together send')
    },
    requestsOf: (authorization) => ({
      requestsPerSecond: limits.keyRequests || null,
      remaining: ofKey.remaining(authorization ?? ''),
    }),
    openSocket: ({ id }) => sockets.add(id),
    openSubscription: ({ id }) => subscriptions.add(id),
  }
}

const retryAfter = { 'retry-after': '1' }

function rateLimited(who: string, perSecond: number, retryAfterMs: number): ClientError {
  const message = `${who} more than ${perSecond} requests per second, which is the limit. Wait a second and try again.`
  const extensions = { requestsPerSecond: perSecond, remaining: 0, retryAfterMs }
  return new ClientError('RATE_LIMITED', message, { extensions, http: { status: 429, headers: retryAfter } })
}

/** More keys than are ever in use at the same moment. A key that is forgotten starts again with a full bucket. */
const rememberedKeys = 10_000

/**
 * A token bucket for each name. It holds what two seconds allow, so that a page may load everything at once. 0 means no
 * limit.
 */
function createRate(perSecond: number) {
  if (perSecond === 0) return { take: () => undefined, remaining: () => null }
  const capacity = 2 * perSecond
  const buckets = new LRUCache<string, { tokens: number; at: number }>({ max: rememberedKeys })
  const bucketOf = (name: string) => {
    const now = performance.now()
    const bucket = buckets.get(name) ?? { tokens: capacity, at: now }
    bucket.tokens = Math.min(capacity, bucket.tokens + ((now - bucket.at) * perSecond) / 1000)
    bucket.at = now
    return bucket
  }
  return {
    /** Throws RATE_LIMITED. `who` begins the message. */
    take(name: string, who: string): void {
      const bucket = bucketOf(name)
      buckets.set(name, bucket)
      if (bucket.tokens < 1) throw rateLimited(who, perSecond, Math.ceil(((1 - bucket.tokens) * 1000) / perSecond))
      bucket.tokens -= 1
    },
    remaining: (name: string) => Math.floor(bucketOf(name).tokens),
  }
}

function createCounter(limit: number, what: string) {
  const counts = new Map<string, number>()
  return {
    add(name: string): () => void {
      const count = counts.get(name) ?? 0
      if (count >= limit) {
        throw new ClientError('TOO_MANY_OPERATIONS', `This key has ${limit} ${what}, which is the limit. Close some.`)
      }
      counts.set(name, count + 1)
      return () => {
        const left = (counts.get(name) ?? 1) - 1
        if (left > 0) counts.set(name, left)
        else counts.delete(name)
      }
    },
  }
}
