import { sql } from 'kysely'

import type { Db } from '../../src/store/database/schema.ts'
import { storeVectors } from '../../src/store/memory/passage-embeddings.ts'

/** A deterministic source of numbers between 0 and 1. */
function createRandom(seed = 1): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state + 0.5) / 2 ** 32
  }
}

/**
 * Vectors as models make them: a few dozen directions carry most of the meaning, texts of one topic are near each other,
 * and all of them share a part.
 */
export function createVectors(dimensions: number, { topics = 200, rank = 64, random = createRandom() } = {}) {
  const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random())
  const many = (count: number, make: () => Float32Array) => Array.from({ length: count }, make)
  const directions = many(rank, () => Float32Array.from({ length: dimensions }, () => normal() / Math.sqrt(dimensions)))
  const common = Float32Array.from({ length: dimensions }, () => normal() / Math.sqrt(dimensions))
  const centers = many(topics, () =>
    Float32Array.from({ length: rank }, (_, index) => normal() / Math.sqrt(1 + index / 8)),
  )
  return (): Float32Array => {
    const center = centers[Math.floor(random() * topics)]!
    const vector = Float32Array.from(common, (value) => value + (0.4 * normal()) / Math.sqrt(dimensions))
    for (const [index, direction] of directions.entries()) {
      const weight = center[index]! + (0.7 * normal()) / Math.sqrt(1 + index / 8)
      for (let place = 0; place < dimensions; place += 1) vector[place]! += weight * direction[place]!
    }
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
    return vector.map((value) => value / length)
  }
}

/** Adds passages to an archive, each with the next vector. Returns the vectors by the passage's id. */
export async function addManyPassages(
  db: Db,
  archive: { readonly tenantId: string; readonly agentId: string; readonly model: string },
  count: number,
  next: () => Float32Array,
): Promise<Map<string, Float32Array>> {
  const vectors = new Map<string, Float32Array>()
  for (let added = 0; added < count; added += 1_000) {
    const some = Math.min(1_000, count - added)
    const { rows } = await sql<{ id: string }>`
      insert into passages (id, tenant_id, agent_id, text, tags, metadata, created_at)
      select gen_random_uuid(), ${archive.tenantId}, ${archive.agentId},
        'Entry number ' || number || ' of the archive is about subject' || number % 997, array['tag' || number % 100, 'part' || number % 3], '{}', now()
      from generate_series(${added}::integer, ${added + some - 1}::integer) number returning id`.execute(db)
    const made = rows.map(({ id }) => ({ passageId: id, vector: next() }))
    await storeVectors(db, archive.model, made)
    for (const { passageId, vector } of made) vectors.set(passageId, vector)
  }
  return vectors
}

/** The ids of the nearest by comparing all vectors. */
export function nearest(vectors: ReadonlyMap<string, Float32Array>, query: Float32Array, count: number): string[] {
  const scored = [...vectors].map(([id, vector]) => {
    return { id, score: vector.reduce((sum, value, index) => sum + value * query[index]!, 0) }
  })
  return scored
    .toSorted((one, other) => other.score - one.score)
    .slice(0, count)
    .map(({ id }) => id)
}
