/**
 * The text of a GraphQL operation with the types of its result and variables. Any GraphQL client accepts it as a
 * string. `__apiType` never has a value: GraphQL Code Generator uses the same name, so its documents fit.
 */
export type TypedDocument<Data, Variables> = string & {
  readonly __apiType?: (variables: Variables) => Data
}
