/** The address of a provider, its key and its options. Undefined means the SDK's default, or no key. */
export interface Endpoint {
  /** The part of handles before the slash. Defaults to the name of the adapter. */
  readonly name?: string
  readonly apiKey: string | undefined
  readonly baseUrl: string | undefined
  /** What an error message names as missing if there is no key. Undefined if the endpoint needs none. */
  readonly missingKey?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs?: number | undefined
  /** azure-openai: the version of its API. */
  readonly apiVersion?: string | undefined
  /** bedrock, vertex: the region. */
  readonly region?: string | undefined
  /** vertex: the project. */
  readonly project?: string | undefined
  /** Models that the endpoint is known to have. */
  readonly models?: readonly { readonly name: string; readonly contextWindow?: number }[]
}

/** The options of an SDK's client that depend on the endpoint. */
export function clientOptions({ headers, timeoutMs }: Endpoint) {
  return {
    ...(headers && { defaultHeaders: { ...headers } }),
    ...(timeoutMs !== undefined && { timeout: timeoutMs }),
  }
}
