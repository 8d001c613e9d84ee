import type { GraphQLClient, GraphQLErrorShown, GraphQLResult } from '../../support/graphql-client.ts'
import type { Operation } from './operations.ts'
import type { Random } from './random.ts'
import type { Known } from './values.ts'

/** Every code that a client may get while nothing is wrong with the server. */
const codes = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_RESOLUTION_FAILURE',
  'BAD_REQUEST',
  'BAD_USER_INPUT',
  'BAD_CURSOR',
  'IDEMPOTENCY_CONFLICT',
  'FORBIDDEN',
  'NOT_FOUND',
  'OPERATION_TOO_COMPLEX',
  'TOO_MANY_OPERATIONS',
])

export interface Outcome {
  readonly transport: string
  /** The codes of its errors. Empty if it succeeded. */
  readonly codes: readonly string[]
}

/** An answer that must never occur. */
class Fault extends Error {
  override readonly name = 'Fault'
}

/** Sends operations over every transport, and remembers the ids and cursors in the results. */
export function createDriver(
  client: GraphQLClient,
  random: Random,
  { known, isForeign }: { readonly known: Known; isForeign(id: string): boolean },
) {
  const socket = client.webSocket({ retryAttempts: 5 })

  async function overHttp({ query, variables }: Operation): Promise<GraphQLResult[]> {
    const leaves = random.chance(0.03)
    const signal = leaves ? AbortSignal.timeout(random.below(20)) : AbortSignal.timeout(30_000)
    const answer = await client.request(query, variables, { signal }).catch((error: unknown) => {
      if (leaves) return undefined
      throw new Fault('no answer came', { cause: error })
    })
    if (!answer) return []
    if (answer.status >= 500) throw new Fault(`status ${answer.status}: ${JSON.stringify(answer.errors)}`)
    if (answer.data === undefined && !answer.errors)
      throw new Fault(`status ${answer.status} with neither data nor errors`)
    return [answer]
  }

  async function overEvents({ query, variables }: Operation): Promise<GraphQLResult[]> {
    const stream = await client.events(query, variables)
    if (stream.status >= 500) throw new Fault(`an event stream with status ${stream.status}`)
    const timer = setTimeout(() => stream.close(), 150)
    return collect(stream, () => clearTimeout(timer))
  }

  async function overSocket({ query, variables }: Operation): Promise<GraphQLResult[]> {
    const stream = socket.stream(query, variables)
    const timer = setTimeout(() => void stream.close(), 150)
    return collect({ next: () => stream.next(), close: () => void stream.close() }, () => clearTimeout(timer))
  }

  /** The first results. Closing a stream while it is read causes an error of the client itself. */
  async function collect(
    stream: { next(): Promise<GraphQLResult | undefined>; close(): void },
    done: () => void,
  ): Promise<GraphQLResult[]> {
    const results: GraphQLResult[] = []
    try {
      while (results.length < 20) {
        const result = await stream.next()
        if (!result) break
        results.push(result)
      }
    } catch (error) {
      if ((error as Error).name !== 'AbortError') throw new Fault('the stream broke', { cause: error })
    } finally {
      done()
      stream.close()
    }
    return results
  }

  const transports = { HTTP: overHttp, SSE: overEvents, WebSocket: overSocket }
  return {
    async send(operation: Operation): Promise<Outcome> {
      const transport = random.pick(
        operation.kind === 'subscription'
          ? (['SSE', 'WebSocket'] as const)
          : (['HTTP', 'HTTP', 'SSE', 'WebSocket'] as const),
      )
      const results = await transports[transport](operation)
      const errors: readonly Partial<GraphQLErrorShown>[] = results.flatMap((result) => result.errors ?? [])
      const bad = errors.find((error) => !codes.has(error.extensions?.code ?? ''))
      if (bad) throw new Fault(`${transport}: ${JSON.stringify(bad)}`)
      for (const { data } of results) {
        const foreign = idsIn(data).find(isForeign)
        if (foreign) throw new Fault(`${transport}: ${foreign} is another tenant's: ${JSON.stringify(data)}`)
        harvest(data, known, random)
      }
      return { transport, codes: errors.map((error) => error.extensions!.code) }
    },
    close: () => socket.dispose(),
  }
}

/** The ids in fields of our schema: keys of free JSON may be anything. Workers belong to no tenant. */
function idsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    if (typeof inner !== 'string') return idsIn(inner)
    return /id$/i.test(key) && /^(?!worker_)[a-z]+_[0-9a-f]{32}/.test(inner) ? [inner] : []
  })
}

/** Keeps some of the ids, cursors and names in a result, so that new ones are not outnumbered by old ones. */
function harvest(value: unknown, known: Known, random: Random): void {
  if (Array.isArray(value)) for (const each of value) harvest(each, known, random)
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner !== 'string') harvest(inner, known, random)
    else if (/^id$/.test(key)) keep(known.ids, inner, random)
    else if (/cursor$/i.test(key)) keep(known.cursors, inner, random)
    else if (key === 'name' || key === 'label') keep(known.names, inner, random)
  }
}

/** Sixty of each kind are enough. A new one replaces an old one. */
function keep(list: string[], value: string, random: Random): void {
  if (list.includes(value)) return
  const kind = /^[a-z]+_/.exec(value)?.[0] ?? ''
  const places = list.flatMap((each, place) => (each.startsWith(kind) ? [place] : []))
  if (places.length < 60) list.push(value)
  else list[random.pick(places)] = value
}
