import { complexityFromQuery } from '@pothos/plugin-complexity'
import { Kind, type ExecutionArgs, type OperationDefinitionNode } from 'graphql'

/**
 * What an operation would cost if every page and list it asks for were full: each field counts what the schema says (1 unless it says more), times
 * the sizes of the lists it stands in. The variables must have been checked before.
 */
export function operationCost(operation: OperationDefinitionNode, args: ExecutionArgs): number {
  // The calculator takes a document's first operation, whichever one was asked for: a cheap one in front would hide the other.
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
