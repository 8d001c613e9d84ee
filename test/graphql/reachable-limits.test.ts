import { afterAll, beforeAll, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { talkTo } from '../support/talk.ts'

let app: TestApp
let agentId: string
beforeAll(async () => {
  app = await startTestApp()
  agentId = await talkTo(app).createAgent({ model: 'demo/scripted' })
})
afterAll(() => app.stop())

/** Characters with the most bytes, so that a limit of characters is as many bytes as possible. */
const text = (length: number): string => '語'.repeat(length)
/** JSON of exactly this many bytes. */
const json = (bytes: number, start: object = {}): object => {
  const empty = JSON.stringify({ ...start, title: '' }).length
  return { ...start, title: 'x'.repeat(bytes - empty) }
}
const list = <T>(length: number, one: (index: number) => T): T[] => Array.from({ length }, (_, index) => one(index))
const kb64 = 64 * 1024
const agent = (more: object) => ({ name: 'a', model: 'demo/scripted', includeBaseTools: false, ...more })
const send = (more: object) => ({ to: { agentId }, whenBusy: 'ENQUEUE', messages: [{ text: 'hi' }], ...more })
const source = (length: number) => 'export default () => 1 //'.padEnd(length, '語')
const tool = (more: object) => ({ name: 't', implementation: { javascript: { source: source(50) } }, ...more })

const limits: readonly (readonly [what: string, mutation: string, input: (more: number) => object])[] = [
  ['instructions', 'createAgent', (more) => agent({ instructions: text(200_000 + more) })],
  ['description of an agent', 'createAgent', (more) => agent({ description: text(10_000 + more) })],
  ['metadata', 'createAgent', (more) => agent({ metadata: json(kb64 + more) })],
  ['tags', 'createAgent', (more) => agent({ tags: list(50 + more, (index) => `${index}`.padEnd(64, 'x')) })],
  ['response schema', 'createAgent', (more) => agent({ modelSettings: { responseSchema: json(kb64 + more) } })],
  ['value of a block', 'createBlock', (more) => ({ label: 'b', charLimit: 1_000_000, value: text(1_000_000 + more) })],
  [
    'source of a tool',
    'upsertTool',
    (more) => tool({ implementation: { javascript: { source: source(500_000 + more) } } }),
  ],
  ['parameters of a tool', 'upsertTool', (more) => tool({ parameters: json(kb64 + more, { type: 'object' }) })],
  ['text of a message', 'sendMessage', (more) => send({ messages: [{ text: text(200_000 + more) }] })],
  ['messages', 'sendMessage', (more) => send({ messages: list(100 + more, () => ({ text: text(10_000) })) })],
  [
    'parts of a message',
    'sendMessage',
    (more) => send({ messages: [{ content: list(50 + more, () => ({ text: text(50_000) })) }] }),
  ],
  ['metadata of a run', 'sendMessage', (more) => send({ metadata: json(kb64 + more) })],
  ['response schema of a run', 'sendMessage', (more) => send({ responseSchema: json(kb64 + more) })],
  [
    'client tools',
    'sendMessage',
    (more) => send({ clientTools: list(128 + more, (index) => ({ name: `t${index}`, description: text(10_000) })) }),
  ],
]

test.each(limits)(
  '[SRV40] %s: the limit can be reached, and one more is refused with the field',
  async (_what, name, input) => {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`
    const mutation = `mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`
    const reached = await app.request(mutation, { input: input(0) })
    expect(reached.errors).toBeUndefined()
    const exceeded = await app.request(mutation, { input: input(1) })
    expect(exceeded.errors).toMatchObject([
      { extensions: { code: 'BAD_USER_INPUT', field: expect.stringMatching(/^input\./) } },
    ])
  },
)
