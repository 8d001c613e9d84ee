import type { TokenCounts } from '../../../src/domain/models/usage.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import type { Exchange } from './fake-server.ts'

/** The failures that every format can express. */
export type FailureKind =
  'rate limit' | 'authentication' | 'bad request' | 'context' | 'overload' | 'server' | 'unknown model'

/** One request to a fake model, independent of its wire format. */
export interface FakeCall {
  readonly exchange: Exchange
  readonly body: any
  think(text: string): void
  /** Reasoning that is not readable. */
  thinkInSecret(): void
  say(text: string): void
  /** If `args` is a string, it is sent unchanged. */
  call(name: string, args: unknown, options?: { readonly callId?: string }): void
  /** Two calls whose arguments arrive interleaved. */
  callInterleaved(calls: readonly { readonly name: string; readonly args: string; readonly callId: string }[]): void
  finish(options?: { readonly reason?: 'end' | 'length' | 'filter' }): void
  /** An answer that is an HTTP error. */
  refuse(kind: FailureKind, headers?: Record<string, string>): void
  /** An error inside the stream. */
  breakWith(kind: 'overload' | 'server' | 'rate limit'): void
}

export interface FakeProvider {
  readonly name: string
  /** Its model that reasons. */
  readonly handle: string
  /** The real provider with its SDK, using this server's address. */
  readonly provider: Provider
  /** The variables that make a server use it. */
  readonly env: Readonly<Record<string, string>>
  /** Where the server listens. */
  readonly url: string
  /** The token counts of each of its answers. */
  readonly usage: TokenCounts
  nextCall(): Promise<FakeCall>
  readonly refused: string[]
  stop(): Promise<void>
}

/** Must never appear anywhere but in its header. */
export const secretKey = 'sk-test-9f8e7d6c5b4a-not-to-be-seen'

export const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 40, reasoningTokens: 5 }

/** Finds a field that the format does not have. */
export function unknownField(value: object, known: readonly string[]): string | undefined {
  return Object.keys(value).find((key) => !known.includes(key))
}

/** A URL, or bytes of a type that models can see. */
export function isImageUrl(url: unknown): boolean {
  return typeof url === 'string' && /^(https?:\/\/|data:image\/(png|jpeg|gif|webp);base64,[\w+/]+={0,2}$)/.test(url)
}

export function isPdfUrl(url: unknown): boolean {
  return typeof url === 'string' && /^data:application\/pdf;base64,[\w+/]+={0,2}$/.test(url)
}

/** What `strict: true` requires of a schema. */
export function isClosed(schema: any): boolean {
  if (schema?.type === 'array') return isClosed(schema.items)
  if (schema?.type !== 'object') return true
  const names = Object.keys(schema.properties ?? {})
  return (
    schema.additionalProperties === false &&
    names.every((name) => schema.required?.includes(name)) &&
    Object.values(schema.properties ?? {}).every(isClosed)
  )
}
