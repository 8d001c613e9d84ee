import { sql } from 'kysely'

import type { Agent } from '../../domain/agents/agent.ts'
import type { Db, Trx } from '../database/schema.ts'
import { numbersIfIndexed } from './archive-indexes.ts'

/** A text that this process is to embed. */
export interface TextToEmbed {
  readonly passageId: string
  readonly model: string
  readonly text: string
  /** Which attempt this is, starting at 1. */
  readonly attempt: number
}

const textsAtOnce = 100
/** Below the limits of providers. A text alone is always below it. */
const charactersAtOnce = 200_000

export function hasTextsToEmbed(now: Date) {
  return sql`exists (select from passage_embeddings where due_at <= ${now})`
}

/**
 * If the embedding model of an agent has changed, queues its passages, or takes them from the queue if there is no model
 * any more. The lock waits for passages that are being added: see `insertPassages`.
 */
export async function queueChangedArchive(
  trx: Trx,
  { before, after, now }: { readonly before: Agent; readonly after: Agent; readonly now: Date },
): Promise<void> {
  const { id, embeddingModel: model } = after
  if (model === before.embeddingModel) return
  await sql`select from agents where id = ${id} for update`.execute(trx)
  await sql`
    delete from passage_embeddings using passages
    where passages.id = passage_embeddings.passage_id and passages.agent_id = ${id}`.execute(trx)
  if (model === null) return
  await sql`
    insert into passage_embeddings (passage_id, model, due_at)
    select passages.id, ${model}, ${now} from passages
    where agent_id = ${id} and not exists (
      select from passage_vectors where passage_id = passages.id and passage_vectors.model = ${model})`.execute(trx)
}

/**
 * The next texts for one model of these providers. Nobody else gets them until `until`, when this process must have
 * embedded them or given up.
 */
export async function claimTextsToEmbed(
  db: Db,
  { providers, now, until }: { readonly providers: readonly string[]; readonly now: Date; readonly until: Date },
): Promise<TextToEmbed[]> {
  const isDue = sql`due_at <= ${now} and split_part(model, '/', 1) = any(${providers}::text[])`
  const { rows } = await sql<TextToEmbed>`
    with due as materialized (
      select passage_id, due_at from passage_embeddings
      where ${isDue} and model = (select model from passage_embeddings where ${isDue} order by due_at limit 1)
      order by due_at, passage_id limit ${textsAtOnce} for update skip locked
    ), batch as (
      select passage_id, text, sum(length(text)) over (order by due_at, passage_id) as characters
      from due join passages on passages.id = passage_id
    )
    update passage_embeddings queued set due_at = ${until}, attempts = attempts + 1
    from batch where batch.passage_id = queued.passage_id and characters <= ${charactersAtOnce}
    returning queued.passage_id as "passageId", model, text, attempts as attempt`.execute(db)
  return rows
}

/** Stores vectors of length 1. A passage that was deleted meanwhile is left out. */
export async function storeVectors(
  db: Db,
  model: string,
  vectors: readonly { readonly passageId: string; readonly vector: Float32Array }[],
): Promise<void> {
  const ids = vectors.map(({ passageId }) => passageId)
  const dimensions = vectors[0]?.vector.length ?? 0
  await sql`
    with given as (
      select * from unnest(${ids}::uuid[], ${vectors.map(({ vector }) => bitsOf(vector))}::text[],
        ${vectors.map(({ vector }) => Buffer.from(numbersOf(vector).buffer))}::bytea[]) as given(passage_id, bits, vector)
    ), kept as materialized (
      select passages.id, passages.agent_id from passages where id = any(${ids}::uuid[]) for key share
    ), done as (
      delete from passage_embeddings where passage_id = any(${ids}::uuid[]) and model = ${model}
    )
    insert into passage_vectors (passage_id, agent_id, model, bits, vector, numbers)
    select kept.id, kept.agent_id, ${model}, given.bits::bit varying, given.vector,
      ${numbersIfIndexed({ model, dimensions }, sql`given.vector`)}
    from given join kept on kept.id = given.passage_id
    on conflict (passage_id) do update set
      model = excluded.model, bits = excluded.bits, vector = excluded.vector, numbers = excluded.numbers`.execute(db)
}

/** Tries a text again later. */
export async function postponeEmbeddings(db: Db, passageIds: readonly string[], dueAt: Date): Promise<void> {
  await sql`update passage_embeddings set due_at = ${dueAt} where passage_id = any(${passageIds}::uuid[])`.execute(db)
}

/** The provider refuses the text. It is found by its words, and queued again when the model changes. */
export async function dropEmbedding(db: Db, { passageId, model }: TextToEmbed): Promise<void> {
  await sql`delete from passage_embeddings where passage_id = ${passageId} and model = ${model}`.execute(db)
}

export function bitsOf(vector: Float32Array): string {
  let bits = ''
  for (const value of vector) bits += value > 0 ? '1' : '0'
  return bits
}

/** How a vector is stored: its parts as whole numbers of 16 bits. */
export function numbersOf(vector: Float32Array): Int16Array {
  return Int16Array.from(vector, (value) => Math.round(value * 32_767))
}
