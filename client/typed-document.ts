/**
 * The text of a GraphQL operation that carries the types of its result and variables. Any GraphQL client takes it as a
 * string.
 */
export type TypedDocument<Data, Variables> = string & {
  readonly __types?: (variables: Variables) => Data
}
