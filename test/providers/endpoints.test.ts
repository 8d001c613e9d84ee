import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, expect, test } from 'vitest'

import { modelEndpoints, readConfig } from '../../src/config/config.ts'
import { presets } from '../../src/config/providers-file.ts'
import { createCatalog } from '../../src/providers/catalog.ts'
import { createProvider } from '../../src/providers/create-provider.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { checkChat } from '../support/fake-providers/chat-check.ts'
import { secretKey } from '../support/fake-providers/fake-model.ts'
import { startFakeServer, type Exchange } from '../support/fake-providers/fake-server.ts'
import { talkTo } from '../support/talk.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { aRequest, collect, itemsOf } from './speakers.ts'

/** Azure has the deployment and the API version in the address, and the key in a header of its own. */
const azurePath = '/openai/deployments/local-model/chat/completions?api-version=2026-01-01'
const folder = await makeTemporaryFolder()
const server = await startFakeServer((request) => {
  const azure = request.path === azurePath && request.headers['api-key'] === secretKey
  return checkChat(
    azure ? { ...request, path: '/v1/chat/completions', headers: { authorization: `Bearer ${secretKey}` } } : request,
  )
})
afterAll(() => server.stop())

async function file(text: string): Promise<string> {
  const path = join(folder, `${Math.random()}.yaml`)
  await writeFile(path, text)
  return path
}

function say(exchange: Exchange, text: string): void {
  exchange.send({ choices: [{ index: 0, delta: { content: text }, finish_reason: 'stop' }] })
  exchange.raw('data: [DONE]\n\n')
  exchange.end()
}

test('[PRV45] agents use the endpoints of the providers file by name, with their keys and headers', async () => {
  const path = await file(`providers:
  office:
    adapter: openai-chat
    baseUrl: ${server.url}/v1
    apiKeyVariable: OFFICE_KEY
    headers: { x-team: support }
    models: [{ name: local-model, contextWindow: 9000 }]
  cloud: { adapter: anthropic, apiKeyVariable: NOT_SET }
`)
  const app: TestApp = await startTestApp({ env: { HOLDPOINT_PROVIDERS: path, OFFICE_KEY: secretKey } })
  const talk = talkTo(app)
  const agent = await talk.createAgent({ model: 'office/local-model' })
  const run = await talk.start(agent, 'hello')
  const exchange = await server.next()
  expect(exchange.headers['x-team']).toBe('support')
  expect(exchange.body.model).toBe('local-model')
  say(exchange, 'hi')
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'hi' })

  const { models } = await app.data('{ models { handle contextWindow isConfigured } }')
  expect(models).toContainEqual({ handle: 'office/local-model', contextWindow: 9_000, isConfigured: true })
  expect(models).toContainEqual(expect.objectContaining({ handle: 'cloud/claude-opus-5', isConfigured: false }))
  const { errors } = await app.request(
    'mutation { createAgent(input: { name: "a", model: "cloud/claude-opus-5" }) { agent { id } } }',
  )
  expect(errors![0]!.message).toContain('NOT_SET is not set, so cloud/claude-opus-5 cannot be called.')
  await app.stop()
})

test('[PRV45] a preset is one line, and JSON is read too', async () => {
  const path = await file(JSON.stringify({ providers: { groq: {}, local: { preset: 'ollama' } } }))
  expect(readConfig({ HOLDPOINT_PROVIDERS: path, GROQ_API_KEY: 'k' }).HOLDPOINT_PROVIDERS).toMatchObject([
    { name: 'groq', adapter: 'openai-chat', baseUrl: presets['groq']!.baseUrl, apiKey: 'k' },
    { name: 'local', baseUrl: 'http://127.0.0.1:11434/v1', apiKey: undefined, missingKey: undefined },
  ])
})

test.each([
  ['providers: 5', /^HOLDPOINT_PROVIDERS: providers must be an object with one entry per name \(.*\.yaml\)\.$/],
  ['[1', /cannot be read/],
  ['providers: { demo: { preset: groq } }', /not demo/],
  ['providers: { openai: { apiKey: x } }', /providers\.openai has no field "apiKey": expected headers, timeoutMs/],
  ['providers: { x: { preset: groq, prices: { m: { input: 1 } } } }', /providers\.x\.prices\.m\.output is missing/],
  [
    'providers: { x: { preset: groq, prices: { m: { input: 1, output: -2 } } } }',
    /providers\.x\.prices\.m\.output must be a number of US dollars per million/,
  ],
  ['providers: { a b: { preset: groq } }', /must have a name of 1 to 64/],
  ['providers: { x: { preset: nobody } }', /Presets: ollama/],
  ['providers: { x: {} }', /needs an "adapter" or a "preset"/],
  ['providers: { x: { adapter: telepathy } }', /one of openai, openai-chat/],
  ['providers: { x: { preset: groq, url: y } }', /providers\.x has no field "url": expected preset, adapter/],
  ['providers: { x: { preset: groq, baseUrl: "ftp://x" } }', /baseUrl must be an address that begins with http:\/\//],
  ['providers: { x: { preset: groq, timeoutMs: 0 } }', /providers\.x\.timeoutMs must be a whole number from 1 to/],
  ['providers: { x: { adapter: azure-openai } }', /"apiVersion"/],
])('[PRV46] a providers file with a mistake stops the start and says which: %s', async (text, message) => {
  const path = await file(text)
  expect(() => readConfig({ HOLDPOINT_PROVIDERS: path })).toThrow(message)
})

test('[CST2] an endpoint has prices by the names of its models, a built-in provider too', async () => {
  const path = await file(`providers:
  local: { preset: ollama, prices: { "*": { input: 0, output: 0 }, qwen: { input: 1, output: 2, cachedInput: 0.5 } } }
  anthropic: { maxConcurrency: 3, prices: { claude-opus-5: { input: 5, output: 25, cachedInput: 0.5, cacheWrite: 6.25 } } }
`)
  const endpoints = modelEndpoints(readConfig({ HOLDPOINT_PROVIDERS: path, ANTHROPIC_API_KEY: secretKey }))
  const catalog = createCatalog(endpoints.map(createProvider))
  expect(catalog.priceOf('local/qwen')).toEqual({ input: 1, output: 2, cachedInput: 0.5, cacheWrite: 1 })
  expect(catalog.priceOf('local/other')).toMatchObject({ input: 0, output: 0 })
  expect(catalog.priceOf('anthropic/claude-opus-5')).toMatchObject({ input: 5, cacheWrite: 6.25 })
  expect(catalog.priceOf('anthropic/claude-sonnet-5')).toBeUndefined()
  expect(endpoints.find(({ name }) => name === 'anthropic')).toMatchObject({ apiKey: secretKey, maxConcurrency: 3 })
})

const endpoint = { apiKey: secretKey, models: [], maxConcurrency: undefined, prices: {} }
const { signal } = new AbortController()

test('[PRV47] Azure is called at the address of the deployment, with its key and version', async () => {
  const provider = createProvider({
    ...endpoint,
    name: 'azure',
    adapter: 'azure-openai',
    baseUrl: server.url,
    apiVersion: '2026-01-01',
  })
  const parts = collect(provider.stream(aRequest('azure/local-model', 'hello'), signal))
  const exchange = await server.next()
  expect(exchange.path).toBe(azurePath)
  say(exchange, 'hi')
  expect(itemsOf(await parts)).toMatchObject([{ type: 'text', text: 'hi' }])
})

test('[PRV23] of the models that an endpoint lists, a thousand are shown', async () => {
  const names = Array.from({ length: 1_001 }, (_, index) => ({ id: `model-${index}` }))
  const listing = await startFakeServer(
    () => undefined,
    () => ({ object: 'list', data: names }),
  )
  const provider = createProvider({ ...endpoint, name: 'office', adapter: 'openai-chat', baseUrl: listing.url })
  expect(await provider.listModels!(signal)).toHaveLength(1_000)
  await listing.stop()
})

test('[PRV48] an endpoint gets at most that many requests at a time, and the others wait or are cancelled', async () => {
  const provider = createProvider({
    ...endpoint,
    name: 'narrow',
    adapter: 'openai-chat',
    baseUrl: `${server.url}/v1`,
    maxConcurrency: 1,
  })
  const ask = (text: string, given = signal) => collect(provider.stream(aRequest('narrow/local-model', text), given))
  const first = ask('first')
  const leaving = new AbortController()
  const left = ask('left', leaving.signal)
  const second = ask('second')
  const exchange = await server.next()
  expect(exchange.bodyText).toContain('first')
  leaving.abort()
  expect(await left).toEqual([])
  say(exchange, 'one')
  expect(itemsOf(await first)).toMatchObject([{ text: 'one' }])
  const next = await server.next()
  expect(next.bodyText).toContain('second')
  say(next, 'two')
  expect(itemsOf(await second)).toMatchObject([{ text: 'two' }])
})
