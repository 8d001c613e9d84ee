/**
 * The text of a GraphQL operation with the types of its result and variables. Any GraphQL client accepts it as a
 * string.
 */
export type TypedDocument<Data, Variables> = string & {
  readonly __types?: (variables: Variables) => Data
}
