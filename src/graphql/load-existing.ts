import type DataLoader from 'dataloader'

import { notFound } from '../domain/errors.ts'
import { encodeId, type IdKind } from '../domain/ids.ts'
import { nounOf } from './node.ts'

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
