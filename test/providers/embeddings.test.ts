import { afterEach, expect, test } from 'vitest'

import { createBedrock } from '../../src/providers/anthropic/bedrock.ts'
import { createCatalog } from '../../src/providers/catalog.ts'
import { demoProvider } from '../../src/providers/demo/demo.ts'
import { createGemini } from '../../src/providers/gemini/gemini.ts'
import { createAzureOpenAI } from '../../src/providers/openai/azure-openai.ts'
import { createOpenAIChat } from '../../src/providers/openai/openai-chat.ts'
import { createOpenAIResponses } from '../../src/providers/openai/openai-responses.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { secretKey } from '../support/fake-providers/fake-model.ts'
import {
  startFakeServer,
  type FakeServer,
  type ReceivedRequest,
  type Refusal,
} from '../support/fake-providers/fake-server.ts'

/** How a provider is asked for vectors, and what it answers. As strict as the original about what it is sent. */
interface Format {
  readonly handle: string
  readonly create: (url: string) => Provider
  readonly check: (request: ReceivedRequest) => Refusal | undefined
  readonly textsOf: (body: any) => string[]
  readonly answer: (vectors: number[][]) => object
}

const bad = (message: string): Refusal => ({ status: 400, body: { error: { message, type: 'invalid_request_error' } } })
const isBearer = ({ headers }: ReceivedRequest) => headers.authorization === `Bearer ${secretKey}`

const openai = {
  check({ path, body, ...request }: ReceivedRequest) {
    if (!path.startsWith('/v1/embeddings')) return bad(path)
    if (!isBearer({ path, body, ...request })) return { status: 401, body: { error: { message: 'Incorrect API key' } } }
    const { model, input, encoding_format: format, ...rest } = body
    if (typeof model !== 'string' || !Array.isArray(input) || format !== 'float' || Object.keys(rest).length > 0)
      return bad('Unexpected body')
    return input.some((text) => text === 'unspeakable') ? bad("'$.input' is invalid") : undefined
  },
  textsOf: ({ input }: { input: string[] }) => input,
  // In any order.
  answer: (vectors: number[][]) => ({
    object: 'list',
    data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })).toReversed(),
    usage: { prompt_tokens: 1, total_tokens: 1 },
  }),
}

const formats: Record<string, Format> = {
  openai: {
    ...openai,
    handle: 'openai/text-embedding-3-small',
    create: (url) => createOpenAIResponses({ apiKey: secretKey, baseUrl: `${url}/v1` }),
  },
  'openai-chat': {
    ...openai,
    handle: 'openai-chat/nomic-embed-text',
    create: (url) => createOpenAIChat({ apiKey: secretKey, baseUrl: `${url}/v1` }),
  },
  'azure-openai': {
    ...openai,
    handle: 'azure-openai/my-embeddings',
    create: (url) => createAzureOpenAI({ apiKey: secretKey, baseUrl: url, apiVersion: '2026-01-01' }),
    check: ({ path, headers }) =>
      path === '/openai/deployments/my-embeddings/embeddings?api-version=2026-01-01' && headers['api-key'] === secretKey
        ? undefined
        : bad(path),
  },
  gemini: {
    handle: 'gemini/gemini-embedding-001',
    create: (url) => createGemini({ apiKey: secretKey, baseUrl: url }),
    check({ path, headers, body }) {
      if (path !== '/v1beta/models/gemini-embedding-001:batchEmbedContents') return bad(path)
      if (headers['x-goog-api-key'] !== secretKey) return { status: 403, body: { error: { message: 'no key' } } }
      const isRequest = (one: any) =>
        one.model === 'models/gemini-embedding-001' && typeof one.content.parts[0].text === 'string'
      return Array.isArray(body.requests) && body.requests.every(isRequest) ? undefined : bad('requests')
    },
    textsOf: ({ requests }) => requests.map((one: any) => one.content.parts[0].text),
    answer: (vectors) => ({ embeddings: vectors.map((values) => ({ values })) }),
  },
  'bedrock, Titan': {
    handle: 'bedrock/amazon.titan-embed-text-v2:0',
    create: (url) => createBedrock({ apiKey: secretKey, baseUrl: url, region: 'eu-central-1' }),
    check(request) {
      if (decodeURIComponent(request.path) !== '/model/amazon.titan-embed-text-v2:0/invoke') return bad(request.path)
      return isBearer(request) && Object.keys(request.body).join() === 'inputText' ? undefined : bad('body')
    },
    textsOf: ({ inputText }) => [inputText],
    answer: ([embedding]) => ({ embedding, inputTextTokenCount: 1 }),
  },
  'bedrock, Cohere': {
    handle: 'bedrock/cohere.embed-multilingual-v3',
    create: (url) => createBedrock({ apiKey: secretKey, baseUrl: url, region: 'eu-central-1' }),
    check(request) {
      if (request.path !== '/model/cohere.embed-multilingual-v3/invoke') return bad(request.path)
      const { texts, input_type: type } = request.body
      return isBearer(request) && texts.length <= 96 && type === 'search_document' ? undefined : bad('body')
    },
    textsOf: ({ texts }) => texts,
    answer: (embeddings) => ({ embeddings, id: 'x' }),
  },
}

const open = new Set<FakeServer>()
afterEach(async () => {
  for (const server of open) await server.stop()
  open.clear()
})

async function start(format: Format) {
  const server = await startFakeServer(format.check)
  open.add(server)
  return { server, catalog: createCatalog([format.create(server.url)]) }
}

/** Answers requests until as many texts have their vectors. The direction of a text tells its number. */
async function serve(server: FakeServer, { textsOf, answer }: Format, count: number): Promise<void> {
  for (let served = 0; served < count;) {
    const exchange = await server.next()
    const texts = textsOf(exchange.body)
    served += texts.length
    exchange.refuse({ status: 200, body: answer(texts.map((text) => [3 * Number(text), 4 * Number(text), 0])) })
  }
}

const { signal } = new AbortController()

test.each(Object.entries(formats))('[PRV54] %s embeds texts in their order', async (_name, format) => {
  const { server, catalog } = await start(format)
  expect(catalog.embeds(format.handle)).toBe(true)
  const texts = Array.from({ length: 100 }, (_, index) => String(index % 2 === 0 ? index + 1 : -index))
  const serving = serve(server, format, texts.length)
  const vectors = await catalog.embed(format.handle, texts, signal)
  await serving
  // Of length 1, whatever the provider answers.
  expect(vectors.map((vector) => Math.round(vector[0]! * 10))).toEqual(texts.map((text) => (Number(text) > 0 ? 6 : -6)))
  expect(server.refused).toEqual([])
})

test('[PRV54] a text that is refused is told apart from a provider that is away', async () => {
  const format = formats['openai']!
  const { server, catalog } = await start(format)
  await expect(catalog.embed(format.handle, ['unspeakable'], signal)).rejects.toMatchObject({ isRefusal: true })
  const unknown = startFakeServer(() => ({ status: 404, body: { error: { message: 'no such model' } } }))
  open.add(await unknown)
  const other = createCatalog([format.create((await unknown).url)])
  await expect(other.embed(format.handle, ['a'], signal)).rejects.toMatchObject({ isRefusal: false })
  const wrong = catalog.embed(format.handle, ['1', '2'], signal)
  ;(await server.next()).refuse({ status: 200, body: format.answer([[1]]) })
  await expect(wrong).rejects.toMatchObject({ isRefusal: false, message: expect.stringContaining('one vector') })
  const keyless = createCatalog([createOpenAIResponses({ apiKey: undefined, baseUrl: undefined })])
  await expect(keyless.embed(format.handle, ['a'], signal)).rejects.toThrow('OPENAI_API_KEY is not set')
  expect(await keyless.embedQuery(format.handle, 'a')).toBeUndefined()
})

test('[PRV54] demo/embedding gives the same vector for the same text, near those of similar texts', async () => {
  const catalog = createCatalog([demoProvider])
  const [one, same, similar, other] = await catalog.embed(
    'demo/embedding',
    ['The cat sat on the mat', 'The cat sat on the mat', 'A cat sits on mats', 'Quarterly revenue grew'],
    signal,
  )
  const near = (vector: Float32Array) => vector.reduce((sum, value, index) => sum + value * one![index]!, 0)
  expect(near(same!)).toBeCloseTo(1)
  expect(near(similar!)).toBeGreaterThan(near(other!) + 0.2)
  expect(catalog.embeds('demo/scripted')).toBe(false)
})
