import { describe, expect, it } from 'vitest'

import { checkSchema, compileSchema, matchesSchema } from '../../src/util/json-schema.ts'
import type { Json } from '../../src/util/json.ts'

const problemOf = (schema: Json) => {
  const compiled = compileSchema(schema)
  return compiled.ok ? undefined : compiled.problem
}

describe('a JSON Schema', () => {
  it('[JSN1] that is invalid is refused with the place of the fault', () => {
    expect(problemOf({ type: 'object', properties: { a: { type: 'text' } } })).toMatchObject({
      path: '/properties/a/type',
    })
    expect(problemOf({ required: 'a' })).toMatchObject({ path: '/required', message: 'must be array' })
    expect(problemOf({ $ref: '#/none' })).toMatchObject({ message: expect.stringContaining('#/none') })
    expect(problemOf({ pattern: '(' })).toMatchObject({ message: expect.stringContaining('missing closing )') })
    expect(problemOf('text')).toMatchObject({ message: 'must be an object or a boolean' })
  })

  it('[JSN7] may refer to itself', () => {
    const schema = { type: 'object', properties: { child: { $ref: '#' } } }
    expect(checkSchema(schema, { child: { child: {} } })).toEqual([])
    expect(checkSchema(schema, { child: { child: 1 } })).toEqual([{ path: '/child/child', message: 'must be object' }])
    expect(checkSchema({ ...schema, $id: 'https://example.com/tree' }, { child: 1 })).toHaveLength(1)
  })

  it('[JSN6] that cannot be evaluated is a problem, never an exception', () => {
    for (const schema of [
      { type: 'text' },
      { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } },
      { $ref: '#/none' },
    ]) {
      expect(checkSchema(schema, {})).toEqual([{ path: '', message: expect.stringContaining('cannot be checked') }])
      expect(matchesSchema(schema, {})).toBeUndefined()
    }
    expect([matchesSchema({ type: 'object' }, {}), matchesSchema({ type: 'object' }, 1)]).toEqual([true, false])
  })

  it('[JSN2] reports what is wrong with a value, and never changes it', () => {
    const schema = {
      type: 'object',
      properties: { count: { type: 'integer' }, kind: { enum: ['a', 'b'] } },
      required: ['count'],
      additionalProperties: false,
    }
    const value = { count: '1', kind: 'c', extra: true }
    expect(checkSchema(schema, value)).toEqual([
      { path: '', message: 'must NOT have additional properties: "extra"' },
      { path: '/count', message: 'must be integer' },
      { path: '/kind', message: 'must be equal to one of the allowed values: ["a","b"]' },
    ])
    expect(value).toEqual({ count: '1', kind: 'c', extra: true })
    expect(checkSchema(schema, { count: 1 })).toEqual([])
    expect(checkSchema({ type: 'string', format: 'email', unknownKeyword: 1 }, 'anything')).toEqual([])
    expect(checkSchema(false, 1)).toHaveLength(1)
    expect(checkSchema({ items: { type: 'string' } }, Array(12).fill(1))).toHaveLength(10)
  })

  it('[JSN3] is read as draft 2020-12, or as draft 7 if it says so', () => {
    expect(checkSchema({ prefixItems: [{ type: 'string' }] }, [1])).toMatchObject([{ path: '/0' }])
    const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }
    expect(checkSchema(draft7, [1])).toMatchObject([{ path: '/0' }])
  })

  it('[JSN4] cannot replace another one by its $id', () => {
    const standard = 'https://json-schema.org/draft/2020-12/schema'
    expect(checkSchema({ $id: standard, type: 'string' }, 'text')).toEqual([])
    expect(problemOf({ type: 'text' })).toMatchObject({ path: '/type' })
    expect(checkSchema({ $id: 'https://example.org/a', type: 'string' }, 'text')).toEqual([])
    expect(checkSchema({ $id: 'https://example.org/a', type: 'number' }, 1)).toEqual([])
  })

  it('[JSN5] checks patterns in linear time, and refuses those that it cannot', () => {
    // Backtracking would practically never finish.
    expect(checkSchema({ pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}!`)).toHaveLength(1)
    expect(checkSchema({ patternProperties: { '^(x|x)+$': { type: 'string' } } }, { xx: 1 })).toMatchObject([
      { path: '/xx' },
    ])
    expect(checkSchema({ pattern: '^[\\w-]+@\\p{L}+\\u00e9$' }, 'a-b@caf\u00e9')).toEqual([])
    expect(problemOf({ pattern: '(?=a)b' })).toMatchObject({ message: expect.stringContaining('(?=') })
  })
})
