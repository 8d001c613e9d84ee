import {
  defaultFieldResolver,
  getNamedType,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isAbstractType,
  isObjectType,
} from 'graphql'

import { requireBreadth, requireScope } from '../../auth/require-scope.ts'
import {
  type Breadth,
  breadthOf,
  linksWithoutRead,
  operationAccess,
  type RequiredScopes,
  typeScopes,
} from '../../auth/scopes.ts'
import type { Context } from '../context.ts'

type Resolver = GraphQLFieldResolver<unknown, Context>

/** Enforces the table of scopes on every operation and nested field. Throws if an operation has no entry. */
export function requireScopes(schema: GraphQLSchema): GraphQLSchema {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
  for (const root of roots) {
    if (root) for (const field of Object.values(root.getFields())) guardOperation(root.name, field)
  }
  for (const type of Object.values(schema.getTypeMap())) {
    if (isObjectType(type) && !roots.includes(type)) guardFields(schema, type)
  }
  return schema
}

function guardOperation(root: string, field: GraphQLField<unknown, Context>): void {
  const access = operationAccess[root]?.[field.name]
  if (!access) throw new Error(`${root}.${field.name} has no scope: add it to src/auth/scopes.ts.`)
  if (access.scopes.length === 0) return
  const guard = { ...access, name: field.name }
  if (field.subscribe) field.subscribe = guarded(field.subscribe, guard)
  else field.resolve = guarded(field.resolve ?? defaultFieldResolver, guard)
}

function guardFields(schema: GraphQLSchema, type: GraphQLObjectType<unknown, Context>): void {
  const ofType = typeScopes[type.name]
  for (const field of Object.values(type.getFields())) {
    const name = `${type.name}.${field.name}`
    const isLink = isNode(type) && leadsToNodes(schema, getNamedType(field.type)) && !linksWithoutRead.has(name)
    const guard = { scopes: ofType ?? (isLink ? ['READ'] : []), breadth: breadthOf(name), name }
    if (guard.scopes.length > 0 || guard.breadth !== 'conversation') {
      field.resolve = guarded(field.resolve ?? defaultFieldResolver, guard)
    }
  }
}

function isNode(type: GraphQLNamedType): boolean {
  return isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node')
}

function leadsToNodes(schema: GraphQLSchema, type: GraphQLNamedType): boolean {
  if (isAbstractType(type)) return schema.getPossibleTypes(type).some((possible) => isNode(possible))
  return isNode(type) || type.name.endsWith('Connection')
}

interface Guard {
  readonly scopes: RequiredScopes
  readonly breadth: Breadth
  readonly name: string
}

function guarded(resolve: Resolver, { scopes, breadth, name }: Guard): Resolver {
  const shown = `\`${name}\``
  return (root, args, context, info) => {
    if (scopes.length > 0) requireScope(context.viewer, scopes, shown)
    requireBreadth(context.viewer, breadth, shown)
    return resolve(root, args, context, info)
  }
}
