import { defaultFieldResolver, type GraphQLSchema } from 'graphql'

import type { Context } from './context.ts'
import { clearLoaders } from './loaders.ts'

/**
 * The mutations of one document share its loaders, and each changes what they hold. So whatever a mutation's answer asks for is
 * read after the mutation, whoever wrote it. Fields of mutations run one after another: none is loading meanwhile.
 */
export function readFreshAfterMutations(schema: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const resolve = field.resolve ?? defaultFieldResolver
    field.resolve = async (root, args, context: Context, info) => {
      try {
        return await resolve(root, args, context, info)
      } finally {
        clearLoaders(context.loaders)
      }
    }
  }
  return schema
}
