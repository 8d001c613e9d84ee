import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'vitest'

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly failed: boolean
  readonly service: unknown
  readonly startMs: number
  readonly endMs: number
}

export interface ReceivedMetric {
  readonly name: string
  readonly unit: string
  readonly kind: 'sum' | 'gauge' | 'histogram'
  readonly points: readonly { readonly attributes: Readonly<Record<string, unknown>>; readonly value: number }[]
}

export interface OtlpReceiver {
  readonly url: string
  readonly spans: ReceivedSpan[]
  /** The metrics as last received. */
  readonly metrics: Map<string, ReceivedMetric>
  readonly headers: Record<string, unknown>[]
  /** The status of the next answers. With 200, what was sent is accepted. */
  status: number
  /** Waits for a span with this name. */
  span(name: string, trace?: string): Promise<ReceivedSpan>
  stop(): Promise<void>
}

/** A receiver of OTLP over HTTP with JSON, which refuses everything that is not in the protocol. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const receiver = { spans: [], metrics: new Map(), headers: [], status: 200 } as unknown as OtlpReceiver
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    receiver.headers.push({ ...request.headers, path: request.url })
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (receiver.status !== 200) return void answer(receiver.status, { message: 'not now' })
    try {
      if (request.headers['content-type'] !== 'application/json') throw new Error('not JSON')
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, any>
      if (request.url === '/v1/traces') receiver.spans.push(...readTraces(body))
      else if (request.url === '/v1/metrics')
        for (const metric of readMetrics(body)) receiver.metrics.set(metric.name, metric)
      else throw new Error(`nothing is at ${request.url}`)
      answer(200, {})
    } catch (error) {
      faults.push(String(error))
      answer(400, { message: String(error) })
    }
  }
  const faults: string[] = []
  const server = createServer((request, response) => void take(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(receiver, {
    url,
    async span(name: string, trace?: string): Promise<ReceivedSpan> {
      const find = () => receiver.spans.find((span) => span.name === name && (!trace || span.traceId === trace))
      await expect.poll(find, { message: `a span ${name}` }).toBeDefined()
      return find()!
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      expect(faults).toEqual([])
    },
  })
}

/** Throws if an object has keys other than these. */
function only(value: Record<string, any>, ...keys: string[]): Record<string, any> {
  const strange = Object.keys(value).find((key) => !keys.includes(key))
  if (strange !== undefined) throw new Error(`unknown field ${strange}`)
  return value
}

function readTraces(body: Record<string, any>): ReceivedSpan[] {
  return only(body, 'resourceSpans')['resourceSpans'].flatMap((entry: Record<string, any>) => {
    const { resource, scopeSpans } = only(entry, 'resource', 'scopeSpans')
    const service = readAttributes(only(resource, 'attributes')['attributes'])['service.name']
    return scopeSpans.flatMap((scoped: Record<string, any>) =>
      only(scoped, 'scope', 'spans')['spans'].map((span: Record<string, any>) => ({ ...readSpan(span), service })),
    )
  })
}

const spanKeys = ['traceId', 'spanId', 'parentSpanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano']

function readSpan(given: Record<string, any>): Omit<ReceivedSpan, 'service'> {
  const span = only(given, ...spanKeys, 'attributes', 'status')
  const { traceId, spanId, parentSpanId, name, kind, status } = span
  matches(traceId, /^(?!0+$)[0-9a-f]{32}$/)
  matches(spanId, /^(?!0+$)[0-9a-f]{16}$/)
  if (parentSpanId !== undefined) matches(parentSpanId, /^(?!0+$)[0-9a-f]{16}$/)
  if (![1, 2, 3].includes(kind) || typeof name !== 'string' || name === '') throw new Error('a bad kind or name')
  const [startMs, endMs] = [milliseconds(span['startTimeUnixNano']), milliseconds(span['endTimeUnixNano'])]
  if (endMs < startMs) throw new Error('a span ends before it starts')
  const attributes = readAttributes(span['attributes'])
  return { traceId, spanId, parentSpanId, name, kind, attributes, failed: status.code === 2, startMs, endMs }
}

function readMetrics(body: Record<string, any>): ReceivedMetric[] {
  return only(body, 'resourceMetrics')['resourceMetrics'].flatMap((entry: Record<string, any>) =>
    only(entry, 'resource', 'scopeMetrics')['scopeMetrics'].flatMap((scoped: Record<string, any>) =>
      only(scoped, 'scope', 'metrics')['metrics'].map(readMetric),
    ),
  )
}

function readMetric(given: Record<string, any>): ReceivedMetric {
  const metric = only(given, 'name', 'unit', 'description', 'sum', 'gauge', 'histogram')
  const kind = (['sum', 'gauge', 'histogram'] as const).find((one) => metric[one])
  if (!kind || !metric['description']) throw new Error('a metric without a kind or a description')
  const data = only(metric[kind], 'aggregationTemporality', 'isMonotonic', 'dataPoints')
  if (kind !== 'gauge' && data['aggregationTemporality'] !== 2) throw new Error('not cumulative')
  const points = data['dataPoints'].map((point: Record<string, any>) => {
    if (milliseconds(point['timeUnixNano']) < milliseconds(point['startTimeUnixNano'])) throw new Error('bad times')
    const attributes = readAttributes(point['attributes'])
    if (kind !== 'histogram') {
      only(point, 'attributes', 'startTimeUnixNano', 'timeUnixNano', 'asDouble')
      if (typeof point['asDouble'] !== 'number') throw new Error('not a number')
      return { attributes, value: point['asDouble'] }
    }
    const { bucketCounts, explicitBounds, count } = point
    for (const text of [...bucketCounts, count]) matches(text, /^\d+$/)
    const sum = bucketCounts.reduce((total: number, text: string) => total + Number(text), 0)
    if (bucketCounts.length !== explicitBounds.length + 1 || sum !== Number(count)) throw new Error('bad buckets')
    return { attributes, value: Number(count) }
  })
  return { name: metric['name'], unit: metric['unit'], kind, points }
}

function readAttributes(list: readonly Record<string, any>[]): Record<string, unknown> {
  const read = list.map((given) => {
    const { key, value } = only(given, 'key', 'value')
    const [kind, content] = Object.entries(
      only(value, 'stringValue', 'intValue', 'doubleValue', 'boolValue', 'arrayValue'),
    )[0]!
    if (kind === 'intValue') matches(content, /^-?\d+$/)
    if (kind === 'arrayValue') return [key, content.values.map((one: Record<string, any>) => one['stringValue'])]
    return [key, kind === 'intValue' ? Number(content) : content]
  })
  return Object.fromEntries(read)
}

function milliseconds(nanoseconds: string): number {
  matches(nanoseconds, /^\d{19}$/)
  return Number(nanoseconds.slice(0, -6))
}

function matches(text: unknown, pattern: RegExp): void {
  if (typeof text !== 'string' || !pattern.test(text)) throw new Error(`${String(text)} is not like ${pattern}`)
}
