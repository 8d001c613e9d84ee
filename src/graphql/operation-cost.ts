import { complexityFromQuery } from '@pothos/plugin-complexity'
import { type ExecutionArgs, Kind, type OperationDefinitionNode } from 'graphql'

/**
 * How deep an operation is, and what it would cost if every list that it asks for were full. A field counts 1 unless
 * the schema says otherwise, times the sizes of the lists around it. The variables must already have been checked.
 * Introspection has a limit of its own (`introspectionCost`).
 */
export function operationCost(operation: OperationDefinitionNode, args: ExecutionArgs) {
  // The calculator takes the first operation of a document, so it only gets the one that the client asked for.
  const fragments = args.document.definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
  const { complexity: cost, depth } = complexityFromQuery(
    { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] },
    {
      schema: args.schema,
      ctx: args.contextValue ?? {},
      variables: args.variableValues ?? {},
    },
  )
  return { cost, depth }
}
