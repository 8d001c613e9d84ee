import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../../support/app.ts'
import { watchThread } from '../../support/blocked.ts'
import { longer } from '../../support/long.ts'

/**
 * Schemas that are made to take long, and values that make them take longer. Nothing that they do may hold up other
 * requests, whatever their size.
 */

const uses = ['answer', 'client tool', 'parameters', 'condition']
let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
  // What is loaded with the first request is not the schema's fault.
  const text = JSON.stringify({ x: times(4_000, (i) => `${'a'.repeat(i % 40)}!`) })
  for (const use of uses) await sendWith(use, { type: 'object' }, text)
}, 60_000)
afterAll(() => app.stop())

const times = <Value>(count: number, value: (index: number) => Value) =>
  Array.from({ length: count }, (_, i) => value(i))
const named = (count: number, value: (index: number) => unknown) =>
  Object.fromEntries(times(count, (index) => [`p${index}`, value(index)]))

/** Each level refers twice to the next, under a keyword that evaluates both. */
const tower = fc
  .record({ height: fc.integer({ min: 1, max: 60 }), keyword: fc.constantFrom('allOf', 'anyOf', 'oneOf') })
  .map(({ height, keyword }) => ({
    $defs: Object.fromEntries([
      ...times(height, (i) => [`d${i}`, { [keyword]: times(2, () => ({ $ref: `#/$defs/d${i + 1}` })) }]),
      [`d${height}`, { required: ['z'] }],
    ]),
    $ref: '#/$defs/d0',
  }))
const branches = fc
  .integer({ min: 1, max: 95 })
  .map((height) =>
    times(height, (i) => i).reduce<object>(
      (inner, i) => ({ if: { minProperties: i }, ['then' as string]: inner, else: { not: { required: [`p${i}`] } } }),
      { minProperties: 100_000 },
    ),
  )
const references = fc
  .record({ count: fc.integer({ min: 1, max: 1_300 }), properties: fc.integer({ min: 1, max: 1_000 }) })
  .map(({ count, properties }) => ({
    $defs: { a: { properties: named(properties, () => ({ type: 'string' })) } },
    allOf: times(count, () => ({ $ref: '#/$defs/a' })),
  }))
const circles = fc.constantFrom<object>(
  { $ref: '#' },
  { $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' },
  {
    $dynamicAnchor: 'n',
    additionalProperties: { $dynamicRef: '#n' },
    properties: { x: { items: { $dynamicRef: '#n' } } },
  },
  { $dynamicAnchor: 'n', allOf: [{ $dynamicRef: '#n' }, { $dynamicRef: '#n' }] },
  { properties: { x: { unevaluatedProperties: { $ref: '#' } } }, unevaluatedProperties: { $ref: '#' } },
)
const pattern = fc
  .record({
    piece: fc.constantFrom(
      'a{1000}',
      '(a?){500}',
      '(x+x+)+',
      '\\p{L}{300}',
      '[^\\u0000-\\uffff]',
      '(a|aa|aaa)*',
      '.{0,1000}',
    ),
    count: fc.integer({ min: 1, max: 8_000 }),
  })
  .map(({ piece, count }) => piece.repeat(Math.min(count, Math.floor(60_000 / piece.length))))
const patterns = pattern.chain((text) =>
  fc.constantFrom<object>(
    { properties: { x: { items: { pattern: text } } } },
    { patternProperties: { [text]: { type: 'string' } }, additionalProperties: false },
    { propertyNames: { pattern: text } },
  ),
)
const lists = fc.constantFrom<object>(
  { properties: { x: { uniqueItems: true } } },
  { properties: { x: { contains: { enum: times(8_000, (i) => `v${i}`) }, minContains: 5_000 } } },
  { properties: { x: { items: { oneOf: times(1_500, (i) => ({ const: { n: i } })) } } } },
  { properties: { x: { items: { enum: times(700, (i) => ({ deep: [{ i }], text: 'x'.repeat(40) })) } } } },
  { properties: named(2_500, (i) => ({ type: 'string', minLength: i })) },
)
const defaults = fc
  .record({ size: fc.integer({ min: 1, max: 60_000 }), count: fc.integer({ min: 1, max: 800 }) })
  .chain(({ size, count }) =>
    fc.constantFrom<object>(
      { properties: { x: { items: { properties: { d: { default: 'd'.repeat(size) } } } } } },
      { properties: { x: { items: { properties: named(count, () => ({ default: [{}, {}] })) } } } },
      { properties: { x: { items: { properties: named(count, () => ({ properties: { y: { default: 1 } } })) } } } },
    ),
  )
const schema = fc
  .oneof(tower, branches, references, circles, patterns, lists, defaults)
  .map((hostile) => ({ ...hostile, type: 'object' }))

const value = fc
  .record({ count: fc.integer({ min: 0, max: 4_000 }), kind: fc.constantFrom('object', 'number', 'text', 'deep') })
  .map(({ count, kind }) => {
    const items = times(count, (i) => (kind === 'number' ? i : kind === 'text' ? `${'a'.repeat(i % 40)}!` : {}))
    const deep = times(90, (i) => i).reduce<object>((inner) => ({ x: [inner, inner].slice(0, 1) }), {})
    return { x: kind === 'deep' ? deep : items, p1: 'a', p2: 2 }
  })

const documents = {
  agent: `mutation ($i: CreateAgentInput!) { createAgent(input: $i) { agent { id } } }`,
  tool: `mutation ($i: UpsertToolInput!) { upsertTool(input: $i) { tool { id } } }`,
  send: `mutation ($i: SendMessageInput!) { sendMessage(input: $i) {
    ... on SendMessageSuccess { run { status stopReason } } ... on Refusal { message } } }`,
}

/** The input of a request that brings the schema, and what a model says then. */
async function sendWith(use: string, hostile: object, text: string): Promise<{ errors: unknown }> {
  const made = (tools: object[]) =>
    app.data(documents.agent, { i: { name: 'A', model: 'demo/scripted', includeBaseTools: false, tools } })
  const javascript = { source: 'export default () => 1' }
  const tool = { name: 'hostile', implementation: { javascript } }
  const own = { parameters: { parameters: hostile }, condition: { approvalCondition: hostile } }[use]
  const stored = own && (await app.request(documents.tool, { i: { ...tool, parameters: { type: 'object' }, ...own } }))
  if (stored?.errors) return { errors: stored.errors }
  const { createAgent } = await made(own ? [{ toolName: 'hostile' }] : [])
  const input = {
    to: { agentId: createAgent.agent.id },
    messages: [{ text: use === 'answer' ? `say ${text}` : `call hostile ${text}` }],
    ...(use === 'answer' && { responseSchema: hostile }),
    ...(use === 'client tool' && { clientTools: [{ name: 'hostile', parameters: hostile }] }),
    waitMs: 20_000,
  }
  const { errors, data } = await app.request(documents.send, { i: input })
  if (!errors) expect(data?.sendMessage?.run?.status).toMatch(/COMPLETED|FAILED|AWAITING_APPROVAL/)
  return { errors }
}

test('[JSN9] no schema, pattern, default or answer holds up other requests', { timeout: 600_000 }, async () => {
  const use = fc.constantFrom(...uses)
  await fc.assert(
    fc.asyncProperty(schema, value, use, async (hostile, given, place) => {
      let blockedMs = Infinity
      // What holds up the process does so each time, and a busy machine does not. Each title makes it another schema.
      for (let nth = 1; nth <= 3 && blockedMs >= 100; nth += 1) {
        const watch = watchThread()
        const { errors } = await sendWith(place, { ...hostile, title: `Attempt ${nth}` }, JSON.stringify(given))
        blockedMs = watch.stop()
        if (errors) expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
      }
      expect(blockedMs).toBeLessThan(100)
      expect(await app.data('{ __typename }')).toEqual({ __typename: 'Query' })
    }),
    { numRuns: longer(40, 1_000) },
  )
})
