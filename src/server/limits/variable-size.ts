import {
  GraphQLString,
  isInputObjectType,
  isListType,
  isNonNullType,
  typeFromAST,
  type GraphQLInputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'

import { ClientError } from '../../graphql/errors.ts'
import { isJsonObject } from '../../util/json.ts'

/** More than any list of an input may have. */
const longestList = 5_000
/** More than any value of a type that is neither text nor JSON has. */
const longestWord = 10_000
/** More than any query or subscription needs: only mutations bring content. */
const mostText = 256 * 1024

/**
 * Why the variables are too large to be coerced, which graphql-js would do at length, printing the whole value in each
 * error. JSON values have limits of their own.
 */
export function faultOfSize(
  schema: GraphQLSchema,
  { operation, variableDefinitions = [] }: OperationDefinitionNode,
  values: Readonly<Record<string, unknown>>,
): ClientError | undefined {
  let left = mostText
  for (const { variable, type: node } of variableDefinitions) {
    const { value: name } = variable.name
    const type = typeFromAST(schema, node) as GraphQLInputType | undefined
    const fault = type && faultOf(type, values[name], name)
    if (fault) return fault
    if (operation === 'mutation') continue
    left -= textIn(values[name], left)
    if (left < 0)
      return tooLarge(
        name,
        `The variables have more than ${mostText} characters, which is the limit of a ${operation}.`,
      )
  }
  return undefined
}

/** About how many characters a value takes as JSON. Stops counting above `most`. */
function textIn(given: unknown, most: number): number {
  let size = 0
  const values = [given]
  for (const value of values) {
    if (typeof value === 'string') size += value.length
    else if (Array.isArray(value)) size += value.length
    else if (isJsonObject(value)) for (const key in value) size += key.length + 3
    if (size > most) break
    if (typeof value === 'object' && value !== null) for (const entry of Object.values(value)) values.push(entry)
  }
  return size
}

function faultOf(type: GraphQLInputType, value: unknown, field: string): ClientError | undefined {
  if (isNonNullType(type)) return faultOf(type.ofType, value, field)
  if (isListType(type)) {
    if (!Array.isArray(value)) return faultOf(type.ofType, value, field)
    if (value.length > longestList)
      return tooLarge(field, `It has ${value.length} entries. At most ${longestList} are allowed.`)
    return first(value, (entry, index) => faultOf(type.ofType, entry, `${field}.${index}`))
  }
  if (typeof value === 'string' && value.length > longestWord && type !== GraphQLString && type.name !== 'JSON')
    return tooLarge(field, `It has ${value.length} characters, which no ${type.name} has.`)
  if (!isInputObjectType(type) || !isJsonObject(value)) return undefined
  const fields = type.getFields()
  const names = Object.keys(value)
  const isLarge = names.length > Object.keys(fields).length
  const unknown = isLarge ? names.find((name) => !Object.hasOwn(fields, name)) : undefined
  if (unknown !== undefined)
    return tooLarge(field, `It has a field "${unknown.slice(0, 100)}", which ${type.name} does not have.`)
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
