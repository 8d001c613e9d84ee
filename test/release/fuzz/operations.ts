import {
  getNamedType,
  isAbstractType,
  isCompositeType,
  isNonNullType,
  isObjectType,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
} from 'graphql'

import type { Random } from './random.ts'
import { createValues, type Known } from './values.ts'

export interface Operation {
  readonly kind: 'query' | 'mutation' | 'subscription'
  readonly query: string
  readonly variables: Record<string, unknown>
}

/** Random operations on a schema: valid ones with odd arguments, and some that are broken on purpose. */
export function createOperations(schema: GraphQLSchema, random: Random, known: Known): () => Operation {
  const values = createValues(random, known)
  const roots = {
    query: schema.getQueryType()!,
    mutation: schema.getMutationType()!,
    subscription: schema.getSubscriptionType()!,
  }

  return () => {
    const kind = random.pick(['query', 'query', 'query', 'mutation', 'mutation', 'mutation', 'subscription'] as const)
    const variables: Record<string, unknown> = {}
    const declared: string[] = []
    /** Uses variables instead of literals, because they can have any value. */
    const argumentsOf = (field: GraphQLField<unknown, unknown>): string => {
      const given = field.args.flatMap((argument) => {
        const isRequired = isNonNullType(argument.type) && argument.defaultValue === undefined
        if (!random.chance(isRequired ? 0.99 : 0.4)) return []
        const name = `v${declared.length}`
        declared.push(`$${name}: ${String(argument.type)}`)
        const value = values.valueOf(argument.type, argument.name)
        if (value !== undefined) variables[name] = value
        return [`${argument.name}: $${name}`]
      })
      return given.length > 0 ? `(${given.join(', ')})` : ''
    }
    const fieldOf = (field: GraphQLField<unknown, unknown>, depth: number): string => {
      const type = getNamedType(field.type)
      const selection = isCompositeType(type) ? ` ${selectionOf(type, depth + 1)}` : ''
      const alias = random.chance(0.05) ? `a${random.below(3)}: ` : ''
      return `${alias}${field.name}${argumentsOf(field)}${selection}`
    }
    const selectionOf = (type: GraphQLCompositeType, depth: number): string => {
      const parts = ['__typename']
      if ('getFields' in type) {
        const fields = Object.values(type.getFields())
        const usable = depth < 4 ? fields : fields.filter((field) => !isCompositeType(getNamedType(field.type)))
        for (const field of usable) if (random.chance(depth < 2 ? 0.4 : 0.2)) parts.push(fieldOf(field, depth))
        for (const name of ['id', 'cursor', 'name']) if (type.getFields()[name] && random.chance(0.7)) parts.push(name)
      }
      if (isAbstractType(type)) {
        for (const possible of schema.getPossibleTypes(type)) {
          if (random.chance(0.3) && depth < 5) parts.push(`... on ${possible.name} ${selectionOf(possible, depth + 1)}`)
        }
      }
      if (isObjectType(type) && type.name === 'PageInfo') parts.push('endCursor')
      return `{ ${parts.join(' ')} }`
    }
    /** Deleting is rarer, because operations on deleted objects can only be refused. */
    const pickField = (fields: readonly GraphQLField<unknown, unknown>[]): GraphQLField<unknown, unknown> => {
      const field = random.pick(fields)
      return field.name.startsWith('delete') && random.chance(0.9) ? pickField(fields) : field
    }
    const root = Object.values(roots[kind].getFields())
    const count = kind === 'subscription' || random.chance(0.8) ? 1 : 2
    const fields = Array.from({ length: count }, (_, index) => `f${index}: ${fieldOf(pickField(root), 0)}`)
    const signature = declared.length > 0 ? `(${declared.join(', ')})` : ''
    const operation = { kind, query: `${kind} Fuzz${signature} { ${fields.join(' ')} }`, variables }
    return random.chance(0.15) ? broken(operation, random) : operation
  }
}

/** Damages an operation in one of the ways in which clients get them wrong. */
function broken(operation: Operation, random: Random): Operation {
  const { query, variables } = operation
  const at = random.below(query.length)
  const withQuery = (text: string): Operation => ({ ...operation, query: text })
  switch (random.below(10)) {
    case 0:
      return withQuery(query.slice(0, at))
    case 1:
      return withQuery(query.slice(0, at) + query.slice(at + 1))
    case 2:
      return withQuery(
        `${query.slice(0, at)}${random.pick(['{', '}', '(', '"', '...', '@', '$', '\u0000', '😀', '!'])}${query.slice(at)}`,
      )
    case 3:
      return withQuery(query.replace('__typename', 'noSuchField'))
    case 4:
      return withQuery(query.replace('__typename', '...Missing'))
    case 5:
      return withQuery(query.replace('__typename', '__typename @skip(if: $missing)'))
    case 6:
      return withQuery(`${query} ${query}`)
    case 7:
      return withQuery(
        query.replace('__typename', Array.from({ length: 60 }, (_, index) => `x${index}: __typename`).join(' ')),
      )
    case 8:
      return withQuery(query.replace('__typename', `${'... { '.repeat(40)}__typename${' }'.repeat(40)}`))
    default:
      return {
        ...operation,
        variables: Object.fromEntries(
          Object.keys(variables).map((name) => [name, random.pick<unknown>([null, 1, 'x', {}, []])]),
        ),
      }
  }
}
