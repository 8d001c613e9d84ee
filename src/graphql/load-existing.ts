import type DataLoader from 'dataloader'

import { notFound } from '../domain/errors.ts'
import { encodeId, type UuidKind } from '../domain/ids.ts'
import type { Context } from './context.ts'
import { nounOf, requireUuid } from './node.ts'

/** Loads an object that must exist. Throws NOT_FOUND if the viewer's tenant has no such object. */
export async function loadExisting<Value>(
  loader: DataLoader<string, Value | undefined>,
  kind: UuidKind,
  uuid: string,
): Promise<Value> {
  const value = await loader.load(uuid)
  if (value === undefined) throw notFound(nounOf(kind), encodeId(kind, uuid))
  return value
}

/** The ids of the agents that a subscription is limited to, or undefined if it is not limited. */
export async function requireAgents(
  { loaders }: Context,
  ids: readonly string[] | null | undefined,
): Promise<string[] | undefined> {
  if (!ids) return undefined
  // Every id is decoded before the first agent is loaded. An id that throws after a load has started would leave that
  // load's promise without a listener.
  const uuids = ids.map((id) => requireUuid('Agent', id))
  const agents = await Promise.all(uuids.map((uuid) => loadExisting(loaders.agents, 'Agent', uuid)))
  return agents.map(({ id }) => id)
}
