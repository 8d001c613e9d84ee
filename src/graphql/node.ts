import { brandWithType } from '@pothos/core'

import { badUserInput, notFound } from '../domain/errors.ts'
import {
  decodeId,
  encodeId,
  encodeStepId,
  idPrefixes,
  nounOf,
  type DecodedId,
  type IdKind,
  type UuidKind,
} from '../domain/ids.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'

/** The kinds of objects that `node` may return. */
export type NodeKind = Exclude<IdKind, 'Tenant'>

const maxNodes = 100

export const Node = builder.interfaceRef<object>('Node')
Node.implement({
  description:
    'Everything with an id. Ids are globally unique, and their prefix names the type: agent_…, run_…, msg_…, tool_…, call_…',
  fields: (t) => ({ id: t.id({ description: 'Globally unique. It never changes.', resolve: () => '' }) }),
})

type DecodedIdOf<Kind extends NodeKind> = Kind extends 'Step' | 'File'
  ? Extract<DecodedId, { kind: Kind }>
  : Extract<DecodedId, { uuid: string }>

export interface NodeSource<Kind extends NodeKind> {
  /**
   * Uses a loader, so that `nodes` costs one statement per kind. Undefined if the viewer's tenant has no such object.
   */
  readonly load: (context: Context, id: DecodedIdOf<Kind>) => Promise<object | null | undefined>
  /** For kinds of ids that are shared by several types. */
  readonly typeName?: (node: never) => string
}

const sources = new Map<NodeKind, NodeSource<never>>()

/** Registers how `node` finds objects of this kind. */
export function registerNode<Kind extends NodeKind>(kind: Kind, source: NodeSource<Kind>): void {
  sources.set(kind, source as unknown as NodeSource<never>)
}

/** The object with this id, if the viewer may see it. */
export async function loadNode(context: Context, id: string): Promise<object | null> {
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
    description: 'The object with this id. Null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'An id that the API returned.' }) },
    resolve: (_root, { id }, context) => loadNode(context, id),
  }),
  nodes: t.field({
    type: [Node],
    nullable: { list: false, items: true },
    description: 'The objects with these ids, in the same order. Null where there is none.',
    args: {
      ids: t.arg.idList({ required: true, description: `Ids that the API returned. At most ${maxNodes}.` }),
    },
    complexity: ({ ids }) => ({ field: 1, multiplier: Math.min(ids.length, maxNodes) }),
    resolve(_root, { ids }, context) {
      if (ids.length > maxNodes) {
        throw badUserInput('ids', `There are ${ids.length} ids, and at most ${maxNodes} are allowed.`)
      }
      return Promise.all(ids.map((id) => loadNode(context, id)))
    },
  }),
}))

/** The UUID in an id of this kind. Throws NOT_FOUND for any other text, because no such object can exist. */
export function requireUuid(kind: UuidKind, id: string): string {
  const uuid = uuidOf(kind, id)
  if (uuid === undefined) throw notFound(nounOf(kind), id)
  return uuid
}

/** Like `requireUuid`, for queries by id, which return null for an unknown id. */
export function uuidOf(kind: UuidKind, id: string): string | undefined {
  const decoded = decodeId(id)
  return decoded?.kind === kind ? (decoded as { uuid: string }).uuid : undefined
}

/** For ids in a filter. An id that names nothing matches nothing. An id of another kind is bad input. */
export function uuidsOfFilter(kind: UuidKind, field: string, ids: readonly string[]): string[] {
  return ids.flatMap((id, index) => uuidOfFilter(kind, `${field}.${index}`, id))
}

/** Like `uuidsOfFilter`, for one id. Empty if the id names nothing. */
export function uuidOfFilter(kind: UuidKind, field: string, id: string): string[] {
  const prefix = `${idPrefixes[kind]}_`
  if (!id.startsWith(prefix)) {
    throw badUserInput(field, `"${id}" must be an id that begins with ${prefix}.`)
  }
  const uuid = uuidOf(kind, id)
  return uuid === undefined ? [] : [uuid]
}

export { encodeId, encodeStepId, nounOf }
