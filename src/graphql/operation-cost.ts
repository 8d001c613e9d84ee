import { complexityFromQuery } from '@pothos/plugin-complexity'
import { Kind, type ExecutionArgs, type OperationDefinitionNode } from 'graphql'

/**
 * What an operation would cost if every list it asks for were full. A field counts 1 unless the schema gives it another
 * number, times the sizes of the lists around it. The variables must have been checked before. Introspection has a
 * limit of its own (`introspectionCost`).
 */
export function operationCost(operation: OperationDefinitionNode, args: ExecutionArgs): number {
  // The calculator looks at the first operation of a document, so it gets the one that the client asked for alone.
  const fragments = args.document.definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
  const { complexity } = complexityFromQuery(
    { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] },
    {
      schema: args.schema,
      ctx: args.contextValue ?? {},
      variables: args.variableValues ?? {},
    },
  )
  return complexity
}
