import { brandWithType } from '@pothos/core'

import { badUserInput, notFound } from '../domain/errors.ts'
import { decodeId, encodeId, encodeStepId, idPrefixes, nounOf, type DecodedId, type IdKind } from '../domain/ids.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'

/** What `node` may return. */
export type NodeKind = Exclude<IdKind, 'Tenant'>

const maxNodes = 100

export const Node = builder.interfaceRef<object>('Node')
Node.implement({
  description:
    'Everything with an id. Ids are globally unique and say what they are: agent_…, run_…, msg_…, tool_…, call_…',
  fields: (t) => ({ id: t.id({ description: 'Globally unique, and the same for ever.', resolve: () => '' }) }),
})

type DecodedIdOf<Kind extends NodeKind> = Kind extends 'Step'
  ? Extract<DecodedId, { kind: 'Step' }>
  : Exclude<DecodedId, { kind: 'Step' }>

export interface NodeSource<Kind extends NodeKind> {
  /** Through a loader, so that `nodes` costs one statement per kind. Nothing where the viewer's tenant has no such thing. */
  readonly load: (context: Context, id: DecodedIdOf<Kind>) => Promise<object | null | undefined>
  /** Where one kind of id stands for several types. */
  readonly typeName?: (node: never) => string
}

const sources = new Map<NodeKind, NodeSource<never>>()

/** Each noun says how `node` finds it. */
export function registerNode<Kind extends NodeKind>(kind: Kind, source: NodeSource<Kind>): void {
  sources.set(kind, source)
}

async function loadNode(context: Context, id: string): Promise<object | null> {
  const decoded = decodeId(id)
  const source = decoded && sources.get(decoded.kind as NodeKind)
  const node = await source?.load(context, decoded as never)
  if (!decoded || !source || !node) return null
  brandWithType(node, (source.typeName?.(node as never) ?? decoded.kind) as never)
  return node
}

builder.queryFields((t) => ({
  node: t.field({
    type: Node,
    nullable: true,
    description: 'Whatever has this id. Null where there is nothing.',
    args: { id: t.arg.id({ required: true, description: 'An id as the API gave it.' }) },
    resolve: (_root, { id }, context) => loadNode(context, id),
  }),
  nodes: t.field({
    type: [Node],
    nullable: { list: false, items: true },
    description: 'Whatever has these ids, in their order, null where there is nothing.',
    args: {
      ids: t.arg.idList({ required: true, description: `Ids as the API gave them, ${maxNodes} at the most.` }),
    },
    complexity: ({ ids }) => ({ field: 1, multiplier: Math.min(ids.length, maxNodes) }),
    resolve(_root, { ids }, context) {
      if (ids.length > maxNodes) {
        throw badUserInput('ids', `${ids.length} ids are too many. It takes ${maxNodes} at the most.`)
      }
      return Promise.all(ids.map((id) => loadNode(context, id)))
    },
  }),
}))

type UuidKind = Exclude<IdKind, 'Step'>

/** The UUID in an id that must be of this kind; NOT_FOUND for anything else, since no such thing can exist. */
export function requireUuid(kind: UuidKind, id: string): string {
  const uuid = uuidOf(kind, id)
  if (uuid === undefined) throw notFound(nounOf(kind), id)
  return uuid
}

/** As `requireUuid`, for queries by id, where an unknown id gives null. */
export function uuidOf(kind: UuidKind, id: string): string | undefined {
  const decoded = decodeId(id)
  return decoded?.kind === kind ? (decoded as { uuid: string }).uuid : undefined
}

/** For ids in a filter of a list: one that names nothing matches nothing, one of another kind is a mistake. */
export function uuidsOfFilter(kind: UuidKind, field: string, ids: readonly string[]): string[] {
  return ids.flatMap((id, index) => uuidOfFilter(kind, `${field}.${index}`, id))
}

/** As `uuidsOfFilter`: one, or none where the id names nothing. */
export function uuidOfFilter(kind: UuidKind, field: string, id: string): string[] {
  const prefix = `${idPrefixes[kind]}_`
  if (!id.startsWith(prefix)) {
    throw badUserInput(field, `"${id}" is no id of this kind. It takes one that begins with ${prefix}.`)
  }
  const uuid = uuidOf(kind, id)
  return uuid === undefined ? [] : [uuid]
}

export { encodeId, encodeStepId, nounOf }
