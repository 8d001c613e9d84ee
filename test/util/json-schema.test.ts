import { describe, expect, it } from 'vitest'

import * as schemas from '../../src/util/json-schema.ts'
import type { Json } from '../../src/util/json.ts'
import { withDefaults } from '../../src/util/schema-defaults.ts'

const { judged } = schemas
const problemOf = (schema: Json) => judged('test', () => schemas.faultOfSchema(schema))
const checkSchema = (schema: Json, value: Json) => judged('test', () => schemas.checkSchema(schema, value))
const matchesSchema = (schema: Json, value: Json) => judged('test', () => schemas.matchesSchema(schema, value))

describe('a JSON Schema', () => {
  it('[JSN1] that is invalid is refused with the place of the fault', async () => {
    expect(await problemOf({ type: 'object', properties: { a: { type: 'text' } } })).toMatchObject({
      path: '/properties/a/type',
    })
    expect(await problemOf({ required: 'a' })).toMatchObject({ path: '/required', message: 'must be array' })
    expect(await problemOf({ $ref: '#/none' })).toMatchObject({ message: expect.stringContaining('#/none') })
    expect(await problemOf({ pattern: '(' })).toMatchObject({ message: expect.stringContaining('missing closing )') })
    expect(await problemOf('text')).toMatchObject({ message: 'must be an object or a boolean' })
  })

  it('[JSN7] may refer to itself', async () => {
    const schema = { type: 'object', properties: { child: { $ref: '#' } } }
    expect(await checkSchema(schema, { child: { child: {} } })).toEqual([])
    expect(await checkSchema(schema, { child: { child: 1 } })).toEqual([
      { path: '/child/child', message: 'must be object' },
    ])
    expect(await checkSchema({ ...schema, $id: 'https://example.com/tree' }, { child: 1 })).toHaveLength(1)
  })

  it('[JSN6] that cannot be evaluated is a problem, never an exception', async () => {
    for (const schema of [
      { type: 'text' },
      { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } },
      { $ref: '#/none' },
    ]) {
      expect(await checkSchema(schema, {})).toEqual([
        { path: '', message: expect.stringContaining('cannot be checked') },
      ])
      expect(await matchesSchema(schema, {})).toBeUndefined()
    }
    expect([await matchesSchema({ type: 'object' }, {}), await matchesSchema({ type: 'object' }, 1)]).toEqual([
      true,
      false,
    ])
  })

  it('[JSN2] reports what is wrong with a value, and never changes it', async () => {
    const schema = {
      type: 'object',
      properties: { count: { type: 'integer' }, kind: { enum: ['a', 'b'] } },
      required: ['count'],
      additionalProperties: false,
    }
    const value = { count: '1', kind: 'c', extra: true }
    expect(await checkSchema(schema, value)).toEqual([
      { path: '', message: 'must NOT have additional properties: "extra"' },
      { path: '/count', message: 'must be integer' },
      { path: '/kind', message: 'must be equal to one of the allowed values: ["a","b"]' },
    ])
    expect(value).toEqual({ count: '1', kind: 'c', extra: true })
    expect(await checkSchema(schema, { count: 1 })).toEqual([])
    expect(await checkSchema({ type: 'string', format: 'email', unknownKeyword: 1 }, 'anything')).toEqual([])
    expect(await checkSchema(false, 1)).toHaveLength(1)
    expect(await checkSchema({ items: { type: 'string' } }, Array(12).fill(1))).toHaveLength(10)
  })

  it('[JSN3] is read as draft 2020-12, or as draft 7 if it says so', async () => {
    expect(await checkSchema({ prefixItems: [{ type: 'string' }] }, [1])).toMatchObject([{ path: '/0' }])
    const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }
    expect(await checkSchema(draft7, [1])).toMatchObject([{ path: '/0' }])
  })

  it('[JSN4] cannot replace another one by its $id', async () => {
    const standard = 'https://json-schema.org/draft/2020-12/schema'
    expect(await checkSchema({ $id: standard, type: 'string' }, 'text')).toEqual([])
    expect(await problemOf({ type: 'text' })).toMatchObject({ path: '/type' })
    expect(await checkSchema({ $id: 'https://example.org/a', type: 'string' }, 'text')).toEqual([])
    expect(await checkSchema({ $id: 'https://example.org/a', type: 'number' }, 1)).toEqual([])
  })

  it('[JSN5] checks patterns in linear time, and refuses those that it cannot', async () => {
    // Backtracking would practically never finish.
    expect(await checkSchema({ pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}!`)).toHaveLength(1)
    expect(await checkSchema({ patternProperties: { '^(x|x)+$': { type: 'string' } } }, { xx: 1 })).toMatchObject([
      { path: '/xx' },
    ])
    expect(await checkSchema({ pattern: '^[\\w-]+@\\p{L}+\\u00e9$' }, 'a-b@caf\u00e9')).toEqual([])
    expect(await problemOf({ pattern: '(?=a)b' })).toMatchObject({ message: expect.stringContaining('(?=') })
  })

  const slow = 'takes more than 500 ms'
  /** What takes exponential time in its height to evaluate, and memory where every branch fails. */
  const tower = (leaf: Json): Json => ({
    $defs: Object.fromEntries(
      Array.from({ length: 41 }, (_, i) => [
        `d${i}`,
        i === 40 ? leaf : { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    ),
    $ref: '#/$defs/d0',
  })

  it('[JSN8] that takes too much time or memory is stopped, and others are evaluated meanwhile and afterwards', async () => {
    const many = Array.from({ length: 100 }, () => ({ $ref: '#/$defs/a' }))
    const a = { properties: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`p${i}`, { type: 'string' }])) }
    expect(await problemOf({ $defs: { a }, allOf: many })).toBeUndefined()
    for (const piece of ['a{1000}', '(a?){500}'])
      expect(await problemOf({ pattern: piece.repeat(1_000) })).toMatchObject({
        message: expect.stringMatching(/takes more than (500 ms|64 MB) to compile|too large/),
      })
    expect(await matchesSchema(tower({ type: 'object' }), {})).toBeUndefined()
    expect(await checkSchema(tower({ type: 'object' }), { a: 1 })).toMatchObject([
      { message: expect.stringContaining(slow) },
    ])
    expect(await checkSchema(tower({ required: ['z'] }), {})).toMatchObject([
      { message: expect.stringMatching(/takes more than (500 ms|64 MB)/) },
    ])
    expect(
      await checkSchema(
        { uniqueItems: true },
        Array.from({ length: 40_000 }, (_, i) => ({ i })),
      ),
    ).toMatchObject([{ message: expect.stringContaining(slow) }])
    expect(await checkSchema({ type: 'object' }, 1)).toMatchObject([{ message: 'must be object' }])
  })

  it('[JSN12] is evaluated within 0.2 ms, also while schemas of another owner take their whole time', async () => {
    let count = 0
    const usual = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const check = () => {
      const value = { n: (count += 1) }
      return judged('usual', () => schemas.checkSchema(usual, value))
    }
    for (let i = 0; i < 200; i += 1) await check()
    const batches: number[] = []
    for (let i = 0; i < 40; i += 1) {
      const startedAt = performance.now()
      for (let n = 0; n < 25; n += 1) await check()
      batches.push((performance.now() - startedAt) / 25)
    }
    expect(Math.min(...batches)).toBeLessThan(0.2)

    const over: string[] = []
    const hostile = Array.from({ length: 8 }, async (_, i) => {
      await judged('hostile', () => schemas.matchesSchema(tower({ type: 'object' }), { i }))
      over.push('hostile')
    })
    for (let i = 0; i < 20; i += 1) await check()
    // A schema that was never used before waits for a thread, but not for all of another owner's schemas.
    await judged('new', () => schemas.faultOfSchema({ type: 'object', title: 'new' }))
    over.push('new')
    await Promise.all(hostile)
    expect(over.indexOf('new')).toBeLessThan(4)
  })

  it('[JSN10] that is asynchronous is refused, wherever it says so', async () => {
    const refused = { message: 'must not have $async' }
    for (const schema of [
      { $async: true, type: 'object' },
      { $async: {}, type: 'object' },
      { allOf: [{ $async: true }] },
      { properties: { a: { $async: true } } },
      { $dynamicRef: '#a', $defs: { x: { $dynamicAnchor: 'a', $async: true, required: ['z'] } } },
    ] as Json[])
      expect(await problemOf(schema)).toMatchObject(refused)
    // A property of that name is none of our business.
    expect(await problemOf({ properties: { $async: { const: { $async: true } } } })).toBeUndefined()
  })

  it('[JSN11] has defaults that may add 1 MB to a value', () => {
    const items = { properties: { a: { default: 'd'.repeat(50_000) }, b: { properties: { c: { default: 1 } } } } }
    const list = (length: number) => Array.from({ length }, () => ({ b: {} }))
    expect(withDefaults({ items }, list(19))).toHaveLength(19)
    expect(withDefaults({ items }, [{ b: {} }, { a: 1 }])).toEqual([{ a: 'd'.repeat(50_000), b: { c: 1 } }, { a: 1 }])
    expect(withDefaults({ items }, list(21))).toBeUndefined()
    // Properties without defaults cost nothing.
    const wide = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`p${i}`, { type: 'string' }]))
    expect(withDefaults({ items: { properties: wide } }, list(100_000))).toHaveLength(100_000)
  })
})
