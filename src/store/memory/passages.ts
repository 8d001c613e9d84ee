import { sql, type RawBuilder } from 'kysely'

import type { Reach } from '../../domain/access/viewer.ts'
import type { NewPassage, Passage } from '../../domain/memory/passage.ts'
import { storableText } from '../../util/json.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { fromColumns } from '../database/columns.ts'
import { readPage, type Page, type PageArguments } from '../database/page.ts'
import type { Db, Trx } from '../database/schema.ts'

const isEmbedded = sql<boolean>`exists (
  select from passage_vectors join agents on agents.id = passage_vectors.agent_id
  where passage_vectors.passage_id = passages.id and passage_vectors.model = agents.embedding_model)`

function selectPassages(db: Db, reach: Reach) {
  return db
    .selectFrom('passages')
    .selectAll('passages')
    .select(isEmbedded.as('embedded'))
    .where(ofTenant('passages', reach))
}

/** The words that the index has besides those of the text: the agent's, and one for each tag. */
export function inArchive(agentId: string, tags: readonly string[]): RawBuilder<unknown> {
  const words = [`@${agentId.slice(-12)}`, ...tags.map((tag) => `#${storableText(tag)}`)]
  const quoted = words.map((word) => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`)
  return sql`${quoted.join(' & ')}::tsquery`
}

export async function findPassages(db: Db, reach: Reach, ids: readonly string[]): Promise<Passage[]> {
  if (ids.length === 0) return []
  const rows = await selectPassages(db, reach).where('passages.id', 'in', ids).execute()
  return rows.map((row): Passage => fromColumns(row))
}

export function listPassagesPage(
  db: Db,
  reach: Reach,
  { agentId, tags }: { readonly agentId: string; readonly tags: readonly string[] },
  page: PageArguments,
): Promise<Page<Passage>> {
  let query = selectPassages(db, reach).where('passages.agent_id', '=', agentId)
  if (tags.length > 0)
    query = query.where(
      sql<boolean>`passage_words(passages.agent_id, passages.text, passages.tags) @@ ${inArchive(agentId, tags)}`,
    )
  return readPage(db, query, page, {
    key: 'passages.id',
    kind: 'uuid',
    order: 'oldest first',
    keyOf: (row) => row.id,
    toNode: (row): Passage => fromColumns(row),
  })
}

/** Oldest first. One more than `limit` tells that there are more. */
export async function listPassagesToExport(db: Db, reach: Reach, agentId: string, limit: number): Promise<Passage[]> {
  const rows = await selectPassages(db, reach)
    .where('passages.agent_id', '=', agentId)
    .orderBy('passages.id')
    .limit(limit + 1)
    .execute()
  return rows.map((row): Passage => fromColumns(row))
}

/**
 * Stores passages of one agent, and queues them for embedding if the agent has a model for that. The lock on the
 * agent's key waits for a change of that model, so that no passage is left with the model before.
 */
export async function insertPassages(trx: Trx, passages: readonly NewPassage[]): Promise<void> {
  const [first] = passages
  if (!first) return
  await sql`select from agents where id = ${first.agentId} for key share`.execute(trx)
  const column = (value: (passage: NewPassage) => string) => passages.map(value)
  // The agent that a background run works for may have been deleted.
  await sql`
    with stored as (
      insert into passages (id, tenant_id, agent_id, text, tags, metadata, created_at)
      select given.id, agents.tenant_id, agents.id, text, array(select jsonb_array_elements_text(given.tags)), given.metadata,
        ${first.createdAt}
      from agents, unnest(${column(({ id }) => id)}::uuid[], ${column(({ text }) => text)}::text[],
        ${column(({ tags }) => JSON.stringify(tags))}::jsonb[],
        ${column(({ metadata }) => JSON.stringify(metadata))}::jsonb[]) as given(id, text, tags, metadata)
      where agents.id = ${first.agentId} and agents.deleted_at is null
      returning id
    )
    insert into passage_embeddings (passage_id, model, due_at)
    select stored.id, agents.embedding_model, ${first.createdAt} from stored, agents
    where agents.id = ${first.agentId} and agents.embedding_model is not null`.execute(trx)
}

/** Locked until the transaction ends, so that nobody else deletes them. */
export async function lockPassages(trx: Trx, reach: Reach, ids: readonly string[]): Promise<Passage[]> {
  const rows = await selectPassages(trx, reach)
    .where('passages.id', 'in', ids)
    .orderBy('passages.id')
    .forUpdate('passages')
    .execute()
  return rows.map((row): Passage => fromColumns(row))
}

export async function deletePassages(trx: Trx, ids: readonly string[]): Promise<void> {
  await trx.deleteFrom('passages').where('id', 'in', ids).execute()
}
