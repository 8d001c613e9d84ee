import type { Viewer } from '../../domain/access/viewer.ts'
import { type Given, checkedCount, checkedDistinctIds } from '../../domain/input.ts'
import {
  checkedPassages,
  maxNewPassages,
  type NewPassage,
  type Passage,
  type PassageInput,
} from '../../domain/memory/passage.ts'
import { shareAgent } from '../../store/agents/agents.ts'
import type { Trx } from '../../store/database/schema.ts'
import {
  findPassages,
  insertPassages,
  deletePassages as deleteStored,
  lockPassages,
} from '../../store/memory/passages.ts'
import type { CommandContext } from '../command-context.ts'
import { createAllOnce } from '../create-once.ts'
import { checkStorage } from '../files/store-files.ts'
import { found, allFound } from '../found.ts'
import { withDefaults } from '../idempotency.ts'
import { idsOf, recordChange } from '../record-change.ts'
import { transact } from '../../store/database/transact.ts'

export interface AddPassagesInput {
  readonly agentId: string
  readonly passages: readonly PassageInput[]
  readonly idempotencyKey?: Given<string>
}

export async function addPassages(
  context: CommandContext,
  viewer: Viewer,
  input: AddPassagesInput,
): Promise<readonly Passage[]> {
  const { agentId } = input
  const passages = checkedPassages('input.passages', input.passages, { max: maxNewPassages })
  if (passages.length === 0) return []
  const given = { ...input, passages: input.passages.map((one) => withDefaults(one, { tags: [], metadata: {} })) }
  const creation = { mutation: 'addPassages', kind: 'Passage', input: given, find: findPassages } as const
  return createAllOnce(context, viewer, creation, async (trx) => {
    found('Agent', agentId, await shareAgent(trx, viewer, agentId))
    const { tenantId } = viewer
    const stored = await storePassages(context, trx, { tenantId, agentId }, passages)
    await checkStorage(context, trx, tenantId, 'input.passages')
    const change = { before: { passages: [] }, after: { passages: idsOf(stored) } }
    await recordChange(context, trx, viewer, { action: 'addPassages', subject: ['Agent', agentId], ...change })
    return stored.map((passage) => ({ ...passage, embedded: false }))
  })
}

/** Stores checked passages. The agent's archive must not be deleted meanwhile. */
export async function storePassages(
  { ids, clock }: Pick<CommandContext, 'ids' | 'clock'>,
  trx: Trx,
  owner: Pick<Passage, 'tenantId' | 'agentId'>,
  passages: readonly Pick<Passage, 'text' | 'tags' | 'metadata'>[],
): Promise<NewPassage[]> {
  const createdAt = clock.now()
  const stored = passages.map((passage) => ({ ...passage, ...owner, id: ids.next(), createdAt }))
  await insertPassages(trx, stored)
  return stored
}

/** All of them or, if one does not exist, none. */
export async function deletePassages(
  context: CommandContext,
  viewer: Viewer,
  { ids }: { readonly ids: readonly string[] },
): Promise<void> {
  checkedCount('input.ids', ids, { max: maxNewPassages })
  checkedDistinctIds('input.ids', 'Passage', ids)
  if (ids.length === 0) return
  await transact(context, async (trx) => {
    const passages = allFound('Passage', ids, await lockPassages(trx, viewer, ids))
    await deleteStored(trx, ids)
    for (const [agentId, some] of Map.groupBy(passages, (passage) => passage.agentId)) {
      const change = { before: { passages: idsOf(some) }, after: { passages: [] } }
      await recordChange(context, trx, viewer, { action: 'deletePassages', subject: ['Agent', agentId], ...change })
    }
  })
}
