import { badUserInput, notFound } from '../domain/errors.ts'
import { decodeId, encodeId, encodeStepId, type IdKind } from '../domain/ids.ts'
import { builder } from './builder.ts'

/** What `node` may return: an object of the domain, with the name of its GraphQL type. */
export type NodeTypeName = Exclude<IdKind, 'Tenant'>

export const Node = builder.interfaceRef<object>('Node')
Node.implement({
  description:
    'Everything with an id. Ids are globally unique and say what they are: agent_…, run_…, msg_…, tool_…, call_…',
  fields: (t) => ({ id: t.id({ description: 'Globally unique, and the same for ever.', resolve: () => '' }) }),
})

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

/** For ids in a filter, which must at least be ids of the right kind. */
export function uuidsOfFilter(kind: UuidKind, field: string, ids: readonly string[]): string[] {
  return ids.map((id, index) => {
    const uuid = uuidOf(kind, id)
    if (uuid === undefined)
      throw badUserInput(
        `${field}.${index}`,
        `"${id}" is not the id of a ${nounOf(kind)}. It takes an id as the API gave it.`,
      )
    return uuid
  })
}

export function nounOf(kind: IdKind): string {
  return kind.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()
}

export { encodeId, encodeStepId }
