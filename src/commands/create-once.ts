import type { UuidKind } from '../domain/ids.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import type { Db, Trx } from '../store/database/schema.ts'
import { transact, type AfterCommit } from '../store/database/transact.ts'
import type { CommandContext } from './command-context.ts'
import { allFound } from './found.ts'
import { findEarlier, keyedInput, remember, withDefaults, type GivenInput } from './idempotency.ts'

/** A mutation that creates objects, and the request that may be repeated with the same key. */
export interface Creation<Node> {
  readonly mutation: string
  /** Compared with that of an earlier request. Ids may be public or internal. */
  readonly input: GivenInput
  /** Defaults that the schema only describes. */
  readonly defaults?: object
  readonly kind: UuidKind
  readonly find: (db: Db, viewer: Viewer, ids: readonly string[]) => Promise<Node[]>
  /** Checks of a new request that take time or read the database, before the transaction. */
  readonly prepare?: () => Promise<void>
}

type Work<Result> = (trx: Trx, afterCommit: AfterCommit) => Promise<Result>

/**
 * A transaction that creates an object, like `transact`. A request with a key that made one before gets that object as
 * it is now, and `work` is not done. Scopes and the input itself are checked before.
 */
export async function createOnce<Node extends { readonly id: string }>(
  context: CommandContext,
  viewer: Viewer,
  creation: Creation<Node>,
  work: Work<Node>,
): Promise<Node> {
  const [node] = await createAllOnce(context, viewer, creation, async (...given) => [await work(...given)])
  return node!
}

/** The same for several objects. */
export async function createAllOnce<Node extends { readonly id: string }>(
  context: CommandContext,
  viewer: Viewer,
  { mutation, input, defaults = {}, kind, find, prepare }: Creation<Node>,
  work: Work<readonly Node[]>,
): Promise<readonly Node[]> {
  const keyed = keyedInput(viewer, mutation, withDefaults(input, defaults))
  const now = context.clock.now()
  const findMade = async (db: Db): Promise<readonly Node[] | undefined> => {
    const ids = await findEarlier(db, keyed, now)
    return ids && allFound(kind, ids, await find(db, viewer, ids))
  }
  try {
    if (prepare && !(await findMade(context.db))) await prepare()
    return await transact(context, async (trx, afterCommit) => {
      const earlier = await findMade(trx)
      if (earlier) return earlier
      const made = await work(trx, afterCommit)
      await remember(trx, keyed, { objectIds: made.map((node) => node.id), now })
      return made
    })
  } catch (error) {
    // The same request at the same moment may have made what this one found to exist already.
    const made = await findMade(context.db)
    if (made) return made
    throw error
  }
}
