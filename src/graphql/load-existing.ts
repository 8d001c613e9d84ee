import type { InterfaceRef, ObjectRef } from '@pothos/core'

import { notFound } from '../domain/errors.ts'
import { encodeId, nounOf, type UuidKind } from '../domain/ids.ts'
import type { Run } from '../domain/runs/run.ts'
import type { BuilderTypes } from './builder.ts'
import type { Context } from './context.ts'
import { of } from './fields.ts'
import type { Loaders } from './loaders.ts'
import { loaderOf, requireUuid } from './node.ts'
import type DataLoader from 'dataloader'

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

type LinkedKind = Exclude<UuidKind, 'Tenant'>
type Linked<Value> = ObjectRef<BuilderTypes, Value> | InterfaceRef<BuilderTypes, Value>

/** A field that leads to the object whose id is in the property `key`. It must exist. */
export function linkTo<Value, const Key extends string>(type: Linked<Value>, key: Key, description: string) {
  const kind = type.name as LinkedKind
  const resolve = (parent: Readonly<Record<Key, string>>, _args: object, { loaders }: Context) =>
    loadExisting(loaders[loaderOf[kind]] as DataLoader<string, Value | undefined>, kind, parent[key])
  return { ...of(type)(description), resolve }
}

/** The same for a property that may be null, and an object that may have been deleted. */
export function linkOrNull<Value, const Key extends string>(type: Linked<Value>, key: Key, description: string) {
  const resolve = (parent: Readonly<Record<Key, string | null>>, _args: object, { loaders }: Context) => {
    const uuid = parent[key]
    const loader = loaders[loaderOf[type.name as LinkedKind]] as DataLoader<string, Value | undefined>
    return uuid === null ? null : loader.load(uuid)
  }
  return { ...of(type).orNull(description), resolve }
}

/** Loaders whose keys are ids. */
type LoaderById = {
  [Name in keyof Loaders]: Loaders[Name] extends DataLoader<string, unknown, string> ? Name : never
}[keyof Loaders]

/** A field that is read by this loader, with the id of its object as key. */
export function loaded<Name extends LoaderById, Options extends object>(name: Name, options: Options) {
  const resolve = ({ id }: { readonly id: string }, _args: object, { loaders }: Context) =>
    loaders[name].load(id) as ReturnType<Loaders[Name]['load']>
  return { ...options, resolve }
}

/** The runs of a queue, without those that were deleted since the queue was read. */
export async function loadQueue({ loaders }: Context, runIds: readonly string[]): Promise<Run[]> {
  const runs = await Promise.all(runIds.map((id) => loaders.runs.load(id)))
  return runs.filter((run) => run !== undefined)
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
