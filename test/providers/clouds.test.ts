import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { claudeVersion } from '../../src/providers/anthropic/claude-version.ts'
import { createBedrock } from '../../src/providers/anthropic/bedrock.ts'
import { failureOf } from '../../src/providers/errors.ts'
import { loadOptional } from '../../src/util/optional-package.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { secretKey, type FakeProvider } from '../support/fake-providers/fake-model.ts'
import { startFakeGemini } from '../support/fake-providers/gemini.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { hostedFakes } from './speakers.ts'

const starts = { ...hostedFakes, gemini: startFakeGemini }
const names = Object.keys(starts) as (keyof typeof starts)[]
const started = {} as Record<keyof typeof starts, FakeProvider>
let app: TestApp
let talk: Talk
const echo = defineTool({
  name: 'echo',
  description: 'Returns what it is given.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }) => `echo: ${text}`,
})

beforeAll(async () => {
  for (const name of names) started[name] = await starts[name]()
  const path = join(await makeTemporaryFolder(), 'providers.yaml')
  await writeFile(
    path,
    `providers:
  bedrock: { baseUrl: '${started.bedrock.url}', region: eu-central-1, apiKeyVariable: CLOUD_KEY }
  vertex:
    adapter: vertex
    baseUrl: ${started.vertex.url}/v1
    region: europe-west1
    project: my-project
    apiKeyVariable: CLOUD_KEY
  gemini: { baseUrl: '${started.gemini.url}' }
`,
  )
  app = await startTestApp({
    tools: [echo],
    env: { HOLDPOINT_PROVIDERS: path, CLOUD_KEY: secretKey, GEMINI_API_KEY: secretKey },
  })
  talk = talkTo(app)
})
afterAll(async () => {
  await app.stop()
  for (const name of names) await started[name].stop()
})

test.each(names)('[PRV51] %s answers, calls tools, gets its reasoning back, and is cancelled', async (name) => {
  const { handle, nextCall, refused } = started[name]
  const agent = await talk.createAgent({ model: handle, tools: ['echo'], keepRequests: true })
  const run = await talk.start(agent, 'hello')
  const first = await nextCall()
  first.think('let me see')
  first.call('echo', { text: 'one' })
  first.call('echo', { text: 'two' })
  first.finish()
  const second = await nextCall()
  expect(JSON.stringify(second.body)).toMatch(/echo: one.*echo: two/s)
  // The model's own signature, in the place where its format has it.
  expect(JSON.stringify(second.body)).toMatch(/"signature":"sig_0"|"thoughtSignature":"c2lnXw0"/)
  second.say('here you are')
  second.finish()
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'here you are' })

  const long = await talk.start(agent, 'a long one')
  const third = await nextCall()
  third.say('once upon')
  const watch = talk.watch(long)
  await watch.until((line) => line.includes('once'))
  await talk.cancel({ runId: long })
  await third.exchange.closed
  expect(await talk.settled(long)).toMatchObject({ status: 'CANCELLED', answer: 'once upon' })
  await watch.close()
  expect(refused).toEqual([])
  const { run: kept } = await app.data('query ($id: ID!) { run(id: $id) { steps { request response } } }', { id: run })
  expect(JSON.stringify(kept.steps[1].response)).toContain('here')
  expect(JSON.stringify(kept)).not.toContain(secretKey)
})

test('[PRV51] names of Claude models at Amazon and Google are understood', () => {
  expect(claudeVersion('us.anthropic.claude-opus-4-5-20251101-v1:0')).toBe(4.5)
  expect(claudeVersion('anthropic.claude-sonnet-5-v1:0')).toBe(5)
  expect(claudeVersion('claude-sonnet-4-6@20260101')).toBe(4.6)
  const { find, models } = createBedrock({ apiKey: 'k', baseUrl: undefined })
  expect(find!('bedrock/eu.anthropic.claude-sonnet-4-6-20260101-v1:0')).toMatchObject({ contextWindow: 1_000_000 })
  expect(models()).toEqual([])
})

test('[PRV51] a package that is not installed is named, with what to do', async () => {
  const noPackage = 'no-such-package'
  const load = () => import(noPackage)
  const error: unknown = await loadOptional('no-such-package', load).catch((thrown: unknown) => thrown)
  expect(failureOf(error, { secret: undefined }).error).toMatchObject({
    type: 'LLM_BAD_REQUEST',
    message: 'The package no-such-package is not installed. Run: npm install no-such-package',
  })
})

test.each([
  [{ status: 403, message: 'no access to model x in eu-west-1' }, 'LLM_AUTHENTICATION', 'eu-west-1'],
  [{ error: { type: 'throttlingException', message: 'slow down' } }, 'LLM_RATE_LIMIT', 'slow down'],
  [{ error: { type: 'serviceUnavailableException', message: 'later' } }, 'LLM_ERROR', 'later'],
  [{ error: { type: 'validationException', message: 'bad' } }, 'LLM_BAD_REQUEST', 'bad'],
  [{ message: 'Could not load credentials from any providers' }, 'LLM_AUTHENTICATION', 'credentials'],
])('[PRV52] the message of a provider is kept, without keys: %j', (thrown, type, detail) => {
  const failure = failureOf(Object.assign(new Error(''), thrown), { secret: 'k'.repeat(20) })
  expect(failure.error.type).toBe(type)
  expect(failure.error.detail).toContain(detail)
})
