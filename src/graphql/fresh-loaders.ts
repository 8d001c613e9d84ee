import { defaultFieldResolver, type GraphQLFieldResolver, type GraphQLSchema } from 'graphql'

import type { Context } from './context.ts'
import { clearLoaders } from './loaders.ts'

type Resolver = GraphQLFieldResolver<unknown, Context>

/**
 * Loaders remember, and what they remember must not outlive what was true. The mutations of one document share its
 * loaders, and each changes what they hold: whatever a mutation's answer asks for is read after the mutation, whoever
 * wrote it. A subscription keeps its loaders for as long as it lasts: each event is shown as things are then.
 * Fields of either root run one after another: none is loading meanwhile.
 */
export function readFresh(schema: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    field.resolve = thenForget(field.resolve ?? defaultFieldResolver)
  }
  for (const field of Object.values(schema.getSubscriptionType()?.getFields() ?? {})) {
    if (field.subscribe) field.subscribe = thenForget(field.subscribe)
    field.resolve = forgetFirst(field.resolve ?? defaultFieldResolver)
  }
  return schema
}

function thenForget(resolve: Resolver): Resolver {
  return async (root, args, context, info) => {
    try {
      return await resolve(root, args, context, info)
    } finally {
      clearLoaders(context.loaders)
    }
  }
}

function forgetFirst(resolve: Resolver): Resolver {
  return (root, args, context, info) => {
    clearLoaders(context.loaders)
    return resolve(root, args, context, info)
  }
}
