import { sql } from 'kysely'

import { fuseRanks, rankBySimilarity, type Passage } from '../../domain/memory/passage.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { searchedText } from '../conversations/search-messages.ts'
import type { Db } from '../database/schema.ts'
import { findPassages, inArchive } from './passages.ts'
import { searchArchiveIndex } from './archive-indexes.ts'
import { bitsOf, numbersOf } from './passage-embeddings.ts'

export interface PassageSearch {
  readonly agentId: string
  readonly query: string
  /** Tags that a passage must all have. */
  readonly tags: readonly string[]
  readonly limit: number
  readonly embed: EmbedQuery
}

/** Embeds the query. Undefined if the model does not answer now. */
export type EmbedQuery = (model: string, query: string) => Promise<Float32Array | undefined>

export interface PassageMatch {
  readonly passage: Passage
  readonly score: number
}

/** How many of the best of each list are joined. */
const fused = 100
/** How many of the nearest by their bits are compared by their vectors. */
const compared = 200
const comparedWords = 12
const passagesPerWord = 100

/** The best passages by words and, as far as they are embedded, by meaning. */
export async function searchPassages(db: Db, reach: Reach, search: PassageSearch): Promise<PassageMatch[]> {
  const [byWords, ...byMeaning] = await Promise.all([
    listByWords(db, search),
    ...(await listModels(db, search.agentId)).map((model) => listByMeaning(db, search, model)),
  ])
  const best = fuseRanks([byWords, ...byMeaning], search.limit)
  const passages = await findPassages(
    db,
    reach,
    best.map(({ id }) => id),
  )
  const byId = new Map(passages.map((passage) => [passage.id, passage]))
  // A passage may have been deleted meanwhile.
  return best.flatMap(({ id, score }) => {
    const passage = byId.get(id)
    return passage ? [{ passage, score }] : []
  })
}

/**
 * Passages that have all words of the query, or some, or words that begin like them. Each word counts the more, the
 * rarer it is, and a word brings only so many passages, so that a common one costs no more than a rare one.
 */
async function listByWords(db: Db, { agentId, query, tags }: PassageSearch): Promise<string[]> {
  const text = searchedText(query)
  const { rows } = await sql<{ id: string }>`
    with asked as (
      (select ('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || ''':*')::tsquery as words, 1 as weight
        from unnest(to_tsvector('pg_catalog.simple', ${text})) order by length(lexeme) desc limit ${comparedWords})
      union all select websearch_to_tsquery('pg_catalog.simple', ${text}), ${comparedWords}
    ), matches as (
      select match.id, weight / (1 + ln(count(*) over (partition by words))) as weight
      from asked cross join lateral (
        select id, agent_id from passages
        where passage_words(agent_id, text, tags) @@ (${inArchive(agentId, tags)} && asked.words)
          and numnode(asked.words) > 0
        limit ${passagesPerWord}) match
      -- Not above, because Postgres would read another index for it.
      where match.agent_id = ${agentId}
    )
    select id from matches group by id order by sum(weight) desc, id desc limit ${fused}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Usually one. While an archive is embedded again, those of the old model serve too. */
async function listModels(db: Db, agentId: string): Promise<string[]> {
  const { rows } = await sql<{ model: string | null }>`
    with recursive models as (
      (select min(model) as model from passage_vectors where agent_id = ${agentId})
      union all
      select (select min(model) from passage_vectors where agent_id = ${agentId} and model > models.model)
      from models where models.model is not null
    )
    select model from models where model is not null`.execute(db)
  return rows.flatMap(({ model }) => model ?? [])
}

async function listByMeaning(db: Db, search: PassageSearch, model: string): Promise<string[]> {
  const { agentId, query, tags, embed } = search
  const vector = await embed(model, query)
  if (!vector) return []
  const archive = { agentId, model, dimensions: vector.length }
  const indexed = await searchArchiveIndex(db, archive, { numbers: numbersOf(vector), tags, limit: fused })
  if (indexed.length === fused) return indexed
  const bits = bitsOf(vector)
  const isTagged =
    tags.length === 0
      ? sql``
      : // By `offset 0`, Postgres reads the tagged passages at once and not one by one.
        sql`and passage_id in (
          select id from passages where passage_words(agent_id, text, tags) @@ ${inArchive(agentId, tags)} offset 0)`
  const { rows } = await sql<{ id: string; vector: Buffer }>`
    select passage_id as id, vector from passage_vectors where passage_id = any(array(
      select passage_id from passage_vectors
      where agent_id = ${agentId} and model = ${model} and length(bits) = ${bits.length} ${isTagged}
      order by bit_count(bits # ${bits}::bit varying), passage_id limit ${compared}))`.execute(db)
  const candidates = rows.map(({ id, vector: bytes }) => ({
    id,
    vector: new Int16Array(Uint8Array.from(bytes).buffer),
  }))
  return rankBySimilarity(vector, candidates).slice(0, fused)
}
