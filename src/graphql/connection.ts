import type { ObjectRef, InterfaceRef, ImplementableObjectRef } from '@pothos/core'

import { defaultPageSize, maxCount, maxPageSize, type Page, type PageArguments } from '../store/page.ts'
import { builder, type BuilderTypes } from './builder.ts'

type NodeRef<Node> =
  ObjectRef<BuilderTypes, Node> | ImplementableObjectRef<BuilderTypes, Node> | InterfaceRef<BuilderTypes, Node>

const PageInfo = builder.objectRef<Page<unknown>>('PageInfo')
PageInfo.implement({
  description:
    'Connections: 50 per page unless `first` or `last` says otherwise, 200 at the most. Oldest first, by creation, except runs: newest first.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether more follows this page.' }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', { description: 'Whether something precedes this page.' }),
    startCursor: t.string({
      description: 'Pass it as `before` to get what precedes. Null on an empty page.',
      nullable: true,
      resolve: (page) => page.cursors[0] ?? null,
    }),
    endCursor: t.string({
      description: 'Pass it as `after` to get what follows. Null on an empty page.',
      nullable: true,
      resolve: (page) => page.cursors.at(-1) ?? null,
    }),
  }),
})

/** A page that can also say how long the whole list is, asked only where the client asks. */
export interface CountedPage<Node> extends Page<Node> {
  readonly countAll: () => Promise<number>
}

function edgeType<Node>(name: string, node: NodeRef<Node>) {
  const Edge = builder.objectRef<{ readonly node: Node; readonly cursor: string }>(`${name}Edge`)
  Edge.implement({
    description: `One ${name} of a list, with its place in it.`,
    fields: (t) => ({
      node: t.field({
        type: node as ObjectRef<BuilderTypes, Node>,
        description: 'What is at this place.',
        resolve: (edge) => edge.node as never,
      }),
      cursor: t.exposeString('cursor', { description: 'Pass it as `after` or `before`.' }),
    }),
  })
  return Edge
}

/** `NameConnection` and `NameEdge`, as the contract has them. Items cost what the field that pages them multiplies. */
export function connectionType<Node, Shape extends Page<Node> = Page<Node>>(name: string, node: NodeRef<Node>) {
  const Edge = edgeType(name, node)
  const Connection = builder.objectRef<Shape>(`${name}Connection`)
  Connection.implement({
    description: `A page of a list of ${name}s.`,
    fields: (t) => ({
      nodes: t.field({
        type: [node as ObjectRef<BuilderTypes, Node>],
        description: 'The items of this page, in order.',
        complexity: { field: 0, multiplier: 1 },
        resolve: (page) => page.nodes as never,
      }),
      edges: t.field({
        type: [Edge],
        description: 'The items of this page, each with its cursor.',
        complexity: { field: 0, multiplier: 1 },
        resolve: (page) => page.nodes.map((item, index) => ({ node: item, cursor: page.cursors[index]! })),
      }),
      pageInfo: t.field({
        type: PageInfo,
        description: 'Where this page stands in the list.',
        resolve: (page) => page,
      }),
    }),
  })
  return Connection
}

/** As `connectionType`, with `totalCount`. */
export function countedConnectionType<Node>(name: string, node: NodeRef<Node>) {
  const Connection = connectionType<Node, CountedPage<Node>>(name, node)
  builder.objectField(Connection, 'totalCount', (t) =>
    t.int({
      description: `Number of items on all pages together, after filtering. Exact up to ${maxCount}, where counting stops.`,
      complexity: 10,
      resolve: (page) => page.countAll(),
    }),
  )
  return Connection
}

/** The arguments of every connection field. */
export const pageArguments = builder.args((t) => ({
  first: t.int({ description: `The first so many; ${defaultPageSize} unless given, ${maxPageSize} at the most.` }),
  after: t.string({ description: 'Only what follows this cursor.' }),
  last: t.int({ description: `The last so many, ${maxPageSize} at the most. Not together with \`first\`.` }),
  before: t.string({ description: 'Only what precedes this cursor.' }),
}))

/** What a connection field costs: itself, and its selection once for each item that it may return. */
export function pageComplexity(page: PageArguments) {
  return { field: 1, multiplier: Math.min(page.first ?? page.last ?? defaultPageSize, maxPageSize) }
}
