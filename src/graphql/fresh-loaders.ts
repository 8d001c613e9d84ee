import { defaultFieldResolver, type GraphQLFieldResolver, type GraphQLSchema } from 'graphql'

import type { Context } from './context.ts'
import { clearLoaders } from './loaders.ts'

type Resolver = GraphQLFieldResolver<unknown, Context>

/**
 * Loaders cache rows, and a cached row must not outlive a change. The mutations of one document share its loaders, and
 * each may change what they hold, so everything that a mutation's result asks for is read after the mutation. A
 * subscription keeps its loaders as long as it lasts, so they are cleared before each event. Fields of these two roots
 * run one after another, so nothing is being loaded at that moment.
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
