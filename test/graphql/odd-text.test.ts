import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLObjectType,
} from 'graphql'
import { afterAll, expect, it } from 'vitest'

import { schema } from '../../src/graphql/schema.ts'
import { createGround } from '../support/execute.ts'

const ground = await createGround()
afterAll(() => ground.close())

const odd = 'a\u0000b\ud800'

/** Every way to put a string into an input of this type: one value for each string field, nested ones included. */
function oddValues(type: GraphQLInputType, depth = 0): { readonly path: string; readonly value: unknown }[] {
  if (isNonNullType(type)) return oddValues(type.ofType, depth)
  if (isListType(type)) return oddValues(type.ofType, depth).map(({ path, value }) => ({ path, value: [value] }))
  if (isInputObjectType(type)) {
    if (depth > 2) return []
    return Object.values(type.getFields()).flatMap((field) =>
      oddValues(field.type, depth + 1).map(({ path, value }) => ({
        path: `.${field.name}${path}`,
        value: { ...requiredOf(type), [field.name]: value },
      })),
    )
  }
  return ['String', 'ID', 'EventCursor'].includes(getNamedType(type).name) ? [{ path: '', value: odd }] : []
}

/** The required fields of an input that are neither text nor ids. */
function requiredOf(type: GraphQLInputObjectType): object {
  const required = Object.values(type.getFields()).flatMap((field) => {
    const named = getNamedType(field.type)
    if (!isNonNullType(field.type)) return []
    if (isEnumType(named)) return [[field.name, named.getValues()[0]!.name]]
    return named.name === 'DateTime' ? [[field.name, '2026-01-01T00:00:00Z']] : []
  })
  return Object.fromEntries(required)
}

const queries = Object.values((schema.getQueryType() as GraphQLObjectType).getFields()).flatMap((field) =>
  field.args.flatMap((arg) =>
    oddValues(arg.type).map(({ path, value }) => ({ field, arg, where: `${field.name}(${arg.name}${path})`, value })),
  ),
)

it.each(queries)(
  '[QRY1] NUL and half a surrogate pair do not cause an internal error in a query: $where',
  async ({ field, arg, value }) => {
    const required = field.args.filter(
      (one) => one !== arg && isNonNullType(one.type) && one.defaultValue === undefined,
    )
    // Only ids are required.
    const others = required.map(({ name }) => `, ${name}: "run_0"`).join('')
    const selection = isObjectType(getNamedType(field.type)) || 'getFields' in getNamedType(field.type)
    const document = `query ($value: ${arg.type}) { ${field.name}(${arg.name}: $value${others})${selection ? ' { __typename }' : ''} }`
    const { errors } = await ground.execute(document, { value })
    expect(errors.filter(({ code }) => code !== 'BAD_CURSOR' && code !== 'BAD_USER_INPUT')).toEqual([])
  },
)
