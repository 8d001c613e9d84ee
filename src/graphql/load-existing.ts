import type DataLoader from 'dataloader'

import { notFound } from '../domain/errors.ts'
import { encodeId, type IdKind } from '../domain/ids.ts'
import type { Context } from './context.ts'
import { nounOf, requireUuid } from './node.ts'

/** What must exist, because a row or the client names it. NOT_FOUND where the viewer's tenant has no such thing. */
export async function loadExisting<Value>(
  loader: DataLoader<string, Value | undefined>,
  kind: Exclude<IdKind, 'Step'>,
  uuid: string,
): Promise<Value> {
  const value = await loader.load(uuid)
  if (value === undefined) throw notFound(nounOf(kind), encodeId(kind, uuid))
  return value
}

/** The agents that a subscription is limited to; undefined where it is not. */
export async function requireAgents(
  { loaders }: Context,
  ids: readonly string[] | null | undefined,
): Promise<string[] | undefined> {
  if (!ids) return undefined
  const agents = await Promise.all(ids.map((id) => loadExisting(loaders.agents, 'Agent', requireUuid('Agent', id))))
  return agents.map(({ id }) => id)
}
