import {
  isInputObjectType,
  isListType,
  isNonNullType,
  typeFromAST,
  type GraphQLInputType,
  type GraphQLSchema,
  type VariableDefinitionNode,
} from 'graphql'

import { ClientError } from '../../graphql/errors.ts'
import { isJsonObject } from '../../util/json.ts'

/** More than any list of an input may have. */
const longestList = 5_000

/**
 * Why the variables are too large to be coerced, which graphql-js would do at length, printing the whole value in each
 * error. JSON values have limits of their own.
 */
export function faultOfSize(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  values: Readonly<Record<string, unknown>>,
): ClientError | undefined {
  for (const { variable, type: node } of definitions) {
    const type = typeFromAST(schema, node) as GraphQLInputType | undefined
    const fault = type && faultOf(type, values[variable.name.value], variable.name.value)
    if (fault) return fault
  }
  return undefined
}

function faultOf(type: GraphQLInputType, value: unknown, field: string): ClientError | undefined {
  if (isNonNullType(type)) return faultOf(type.ofType, value, field)
  if (isListType(type)) {
    if (!Array.isArray(value)) return faultOf(type.ofType, value, field)
    if (value.length > longestList)
      return tooLarge(field, `It has ${value.length} entries. At most ${longestList} are allowed.`)
    return first(value, (entry, index) => faultOf(type.ofType, entry, `${field}.${index}`))
  }
  if (!isInputObjectType(type) || !isJsonObject(value)) return undefined
  const fields = type.getFields()
  const names = Object.keys(value)
  if (names.length > Object.keys(fields).length) {
    const unknown = names.find((name) => !Object.hasOwn(fields, name))!
    return tooLarge(field, `It has a field "${unknown.slice(0, 100)}", which ${type.name} does not have.`)
  }
  return first(names, (name) => {
    const known = fields[name]
    return known && faultOf(known.type, value[name], `${field}.${name}`)
  })
}

function first<Item>(
  items: readonly Item[],
  find: (item: Item, index: number) => ClientError | undefined,
): ClientError | undefined {
  for (const [index, item] of items.entries()) {
    const found = find(item, index)
    if (found) return found
  }
  return undefined
}

function tooLarge(field: string, message: string): ClientError {
  return new ClientError('BAD_USER_INPUT', `${field}: ${message}`, { extensions: { field } })
}
