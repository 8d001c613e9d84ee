import { once } from 'node:events'

import { afterEach, expect, test } from 'vitest'

import { startTestApp } from '../support/app.ts'
import { talkTo } from '../support/talk.ts'
import { fakes } from './speakers.ts'

const toStop: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const stop of toStop.splice(0).toReversed()) await stop()
})

test.each([
  ['openai', fakes.openai],
  ['openai-chat', fakes['openai-chat']],
] as const)(
  '[PRV53] %s: the connection of an answer is used again, also if the response ends a moment after its last event',
  async (_name, start) => {
    const fake = await start()
    toStop.push(() => fake.stop())
    const app = await startTestApp({ providers: [fake.provider] })
    toStop.push(() => app.stop())
    const api = talkTo(app)
    const agent = await api.createAgent({ model: fake.handle })

    const run = await api.start(agent, 'hello')
    const first = await fake.nextCall()
    const { response } = first.exchange
    const end = response.end.bind(response) as () => void
    response.end = () => response
    first.say('hi')
    first.finish()
    expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'hi' })
    end()
    await once(response, 'finish')

    const again = await api.start(agent, 'hello again')
    const second = await fake.nextCall()
    expect(second.exchange.response.socket).toBe(response.req.socket)
    second.say('hi again')
    second.finish()
    expect(await api.settled(again)).toMatchObject({ status: 'COMPLETED', answer: 'hi again' })
  },
)
