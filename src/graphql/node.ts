import { brandWithType, type ObjectRef } from '@pothos/core'

import type { MessageOutline } from '../domain/conversations/message.ts'
import { badUserInput, notFound } from '../domain/errors.ts'
import { decodeId, encodeId, type IdKind, idPrefixes, nounOf, type UuidKind, uuidOf } from '../domain/ids.ts'
import { builder, type BuilderTypes } from './builder.ts'
import type { Context } from './context.ts'
import { args, id, ids, implement, of } from './fields.ts'
import type { Loaders } from './loaders.ts'
import { messageTypes } from './refs.ts'
import type DataLoader from 'dataloader'

/** The loader of each kind of object that `node` may return, so that `nodes` costs one statement for each kind. */
export const loaderOf = {
  Agent: 'agents',
  AgentTool: 'agentTools',
  ApiKey: 'apiKeys',
  AuditEntry: 'auditEntries',
  Block: 'blocks',
  Budget: 'budgets',
  Conversation: 'conversations',
  File: 'files',
  McpServer: 'mcpServers',
  Message: 'messages',
  Passage: 'passages',
  Run: 'runs',
  Schedule: 'schedules',
  SleeptimeGroup: 'sleeptimeGroups',
  Step: 'steps',
  Tool: 'tools',
  ToolCall: 'toolCalls',
  Webhook: 'webhooks',
  WebhookDelivery: 'webhookDeliveries',
  Worker: 'workers',
} as const satisfies Readonly<Record<Exclude<IdKind, 'Tenant'>, keyof Loaders>>

const maxNodes = 100

/** A type whose ids are not made of its name and the `id` of its objects has its own `id` field. */
export const Node = builder.interfaceRef<object>('Node')
implement(Node, {
  description:
    'Everything with an id. Ids are globally unique, and their prefix names the type: agent_…, run_…, msg_…, tool_…, call_…',
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique and permanent. Its prefix names the type.',
      resolve: (node, _args, _context, { parentType }) =>
        encodeId(parentType.name as UuidKind, (node as { id: string }).id),
    }),
  }),
})

/** The object with this id, if the viewer may see it. */
export async function loadNode({ loaders }: Context, id: string): Promise<object | null> {
  const decoded = decodeId(id)
  if (!decoded || decoded.kind === 'Tenant') return null
  const loader = loaders[loaderOf[decoded.kind]] as DataLoader<unknown, object | undefined>
  const node = await loader.load('uuid' in decoded ? decoded.uuid : decoded)
  if (!node) return null
  const typeName = decoded.kind === 'Message' ? messageTypes[(node as MessageOutline).type] : decoded.kind
  brandWithType(node, typeName as never)
  return node
}

/** Adds the query that finds one object of a type by its id. */
export function queryById(type: ObjectRef<BuilderTypes, unknown>, kind: Exclude<UuidKind, 'Tenant'>): void {
  const noun = nounOf(kind)
  builder.queryField(noun, (t) =>
    t.field({
      type,
      nullable: true,
      description: `${kind} with this id. Null if there is none.`,
      args: args({ id: id.required(`Id of the ${noun}.`) }),
      resolve(_root, { id }, { loaders }) {
        const uuid = uuidOf(kind, id)
        return uuid === undefined ? null : loaders[loaderOf[kind]].load(uuid)
      },
    }),
  )
}

builder.queryFields((t) => ({
  node: t.field({
    ...of(Node).orNull('The object with this id. Null if there is none.'),
    args: args({ id: id.required('An id that the API returned.') }),
    resolve: (_root, { id }, context) => loadNode(context, id),
  }),
  nodes: t.field({
    type: [Node],
    nullable: { list: false, items: true },
    description: 'The objects with these ids, in the same order. Null where there is none.',
    args: args({
      ids: ids.required(`Ids that the API returned. At most ${maxNodes}.`),
    }),
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

/** For ids in a filter. An id that names nothing matches nothing. An id of another kind is bad input. */
export function uuidsOfFilter(kind: UuidKind, field: string, ids: readonly string[]): string[] {
  return ids.flatMap((id, index) => uuidOfFilter(kind, `${field}.${index}`, id))
}

/** Like `uuidsOfFilter`, for one id that may be omitted. */
export function givenUuid(kind: UuidKind, field: string, id: string | null | undefined): string[] | undefined {
  return typeof id === 'string' ? uuidOfFilter(kind, field, id) : undefined
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
