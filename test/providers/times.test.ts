import { afterAll, beforeAll, expect, test } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import type { FakeProvider } from '../support/fake-providers/fake-model.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { fakes } from './speakers.ts'

const names = Object.keys(fakes) as (keyof typeof fakes)[]
const started = {} as Record<keyof typeof fakes, FakeProvider>
let app: TestApp
let talk: Talk
const echo = defineTool({
  name: 'echo',
  description: 'Returns what it is given.',
  parameters: { type: 'object', properties: {} },
  run: () => 'echoed',
})

beforeAll(async () => {
  for (const name of names) started[name] = await fakes[name]()
  app = await startTestApp({ tools: [echo], env: Object.assign({}, ...names.map((name) => started[name].env)) })
  talk = talkTo(app)
})
afterAll(async () => {
  await app.stop()
  for (const name of names) await started[name].stop()
})

const time = String.raw`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(Asia/Kathmandu\)\]\\n`

test.each(names)('[TIM1] %s is told when messages and returns happened, the same each time', async (name) => {
  const { handle, nextCall } = started[name]
  const agent = await talk.createAgent({ model: handle, tools: ['echo'], tellTimes: true, timezone: 'Asia/Kathmandu' })
  const run = await talk.start(agent, 'hello')
  const first = await nextCall()
  expect(JSON.stringify(first.body)).toMatch(new RegExp(`${time}hello`))
  first.call('echo', {})
  first.finish()
  const second = await nextCall()
  expect(JSON.stringify(second.body)).toMatch(new RegExp(`${time}echoed`))
  second.say('done')
  second.finish()
  await talk.settled(run)

  const next = await talk.start(agent, 'and now')
  const third = await nextCall()
  third.say('done')
  third.finish()
  await talk.settled(next)
  const timesOf = (body: unknown) => JSON.stringify(body).match(new RegExp(time, 'g')) ?? []
  expect(timesOf(third.body).slice(0, 2)).toEqual(timesOf(second.body))
  expect(timesOf(third.body)).toHaveLength(3)
})

test('[TIM1] an agent without the setting is told no times; stored messages do not change', async () => {
  const { handle, nextCall } = started['openai-chat']
  const run = await talk.start(await talk.createAgent({ model: handle, timezone: 'Asia/Kathmandu' }), 'hello')
  const call = await nextCall()
  expect(JSON.stringify(call.body)).not.toMatch(new RegExp(time))
  call.say('hi')
  call.finish()
  await talk.settled(run)

  const told = await talk.createAgent({ model: 'demo/scripted', tellTimes: true })
  const { answer, messages } = await talk.settled(await talk.start(told, 'say hi'))
  expect(answer).toBe('hi')
  expect(messages.nodes[0].text).toBe('say hi')
})
