import type { ImplementableObjectRef, InputObjectRef, InterfaceRef, ObjectRef } from '@pothos/core'

import { defaultPageSize, maxCount, maxPageSize, type Page, type PageArguments } from '../store/database/page.ts'
import { builder, type BuilderTypes } from './builder.ts'
import { args, type InputFields, int, of, string } from './fields.ts'

type NodeRef<Node> =
  ObjectRef<BuilderTypes, Node> | ImplementableObjectRef<BuilderTypes, Node> | InterfaceRef<BuilderTypes, Node>

export const PageInfo = builder.objectRef<Omit<Page<unknown>, 'countAll'>>('PageInfo')
PageInfo.implement({
  description:
    'Position of a page in its list. Lists are ordered by creation, oldest first, unless their field says otherwise.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether more items follow this page.' }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', { description: 'Whether items precede this page.' }),
    startCursor: t.string({
      description: 'Cursor of the first item, for `before`. Null if the page is empty.',
      nullable: true,
      resolve: (page) => page.cursors[0] ?? null,
    }),
    endCursor: t.string({
      description:
        'Cursor of the last item, for `after`. Null if the page is empty; of an empty page of `Run.events`, its `after`.',
      nullable: true,
      resolve: (page) => page.endCursor ?? page.cursors.at(-1) ?? null,
    }),
  }),
})

function edgeType<Node>(name: string, node: NodeRef<Node>) {
  const Edge = builder.objectRef<{ readonly node: Node; readonly cursor: string }>(`${name}Edge`)
  Edge.implement({
    description: `One ${name} in a page.`,
    fields: (t) => ({
      node: t.field({
        type: node as ObjectRef<BuilderTypes, Node>,
        description: 'The item.',
        resolve: (edge) => edge.node as never,
      }),
      cursor: t.exposeString('cursor', { description: 'Position of the item, for `after` and `before`.' }),
    }),
  })
  return Edge
}

/** Makes `NameConnection` and `NameEdge`. An item's cost is counted by the field that returns the connection. */
export function connectionType<Node>(name: string, node: NodeRef<Node>) {
  const Edge = edgeType(name, node)
  const Connection = builder.objectRef<Page<Node>>(`${name}Connection`)
  Connection.implement({
    description: `A page of a list of ${name} objects.`,
    fields: (t) => ({
      nodes: t.field({
        type: [node as ObjectRef<BuilderTypes, Node>],
        description: 'Items of the page, in order.',
        complexity: { field: 0, multiplier: 1 },
        resolve: (page) => page.nodes as never,
      }),
      edges: t.field({
        type: [Edge],
        description: 'Items of the page, each with its cursor.',
        complexity: { field: 0, multiplier: 1 },
        resolve: (page) => page.nodes.map((item, index) => ({ node: item, cursor: page.cursors[index]! })),
      }),
      pageInfo: t.field({
        type: PageInfo,
        description: 'Position of the page in the list.',
        resolve: (page) => page,
      }),
      totalCount: t.int({
        description: `Number of items on all pages together, after filtering. Exact up to ${maxCount}, where counting stops.`,
        complexity: 10,
        resolve: (page) => page.countAll(),
      }),
    }),
  })
  return Connection
}

const pageArguments = {
  first: int(`Page size, counted from the start. Defaults to ${defaultPageSize}, at most ${maxPageSize}.`),
  after: string('List only items after this cursor.'),
  last: int(`Page size, counted from the end. At most ${maxPageSize}. Cannot be combined with \`first\`.`),
  before: string('List only items before this cursor.'),
}

/** Options of a field with a page of a list: its type, its arguments, and its cost. `more` are further arguments. */
export function pageOf<Node, More extends InputFields = typeof noMore>(
  connection: ObjectRef<BuilderTypes, Page<Node>>,
  description: string,
  more?: More,
) {
  const all = args({ ...pageArguments, ...(more as More) })
  return { type: connection, description, args: all, complexity: pageComplexity } as const
}
const noMore = {}

/** The argument of a list with a filter. `noun` is what the list has, such as 'agents'. */
export function filterBy<Filter>(type: InputObjectRef<BuilderTypes, Filter>, noun: string) {
  return { filter: of(type)(`Which ${noun} to list. Omit it for all.`) }
}

/** The cost of a connection field: itself, and its selection once for each item that it may return. */
export function pageComplexity(page: PageArguments) {
  return { field: 1, multiplier: Math.min(page.first ?? page.last ?? defaultPageSize, maxPageSize) }
}
