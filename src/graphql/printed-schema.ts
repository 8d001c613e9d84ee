import { type GraphQLSchema, isAbstractType, lexicographicSortSchema, printSchema } from 'graphql'

/** The schema as SDL, in alphabetical order: `schema.graphql`. */
export function printedSchema(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`
}

/** The members of each interface and union, in the form that Apollo Client's cache expects: `possible-types.json`. */
export function printedPossibleTypes(schema: GraphQLSchema): string {
  const sorted = lexicographicSortSchema(schema)
  const members = Object.values(sorted.getTypeMap())
    .filter(isAbstractType)
    .map((type) => [type.name, sorted.getPossibleTypes(type).map(({ name }) => name)])
  return `${JSON.stringify(Object.fromEntries(members), null, 2)}\n`
}
