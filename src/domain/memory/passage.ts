import type { Json, JsonObject } from '../../util/json.ts'
import { badUserInput } from '../errors.ts'
import { checkedCount, checkedName, checkedObject, checkedTags, type Given } from '../input.ts'

/** A text in an agent's archive. */
export interface Passage {
  readonly id: string
  readonly tenantId: string
  readonly agentId: string
  readonly text: string
  readonly tags: readonly string[]
  readonly metadata: JsonObject
  readonly createdAt: Date
  /** Whether there is a vector of the agent's current embedding model. */
  readonly embedded: boolean
}

export type NewPassage = Omit<Passage, 'embedded'>

/** What a tool adds to an archive. */
export type ArchiveWrite = Pick<Passage, 'agentId' | 'text' | 'tags'>

export interface PassageInput {
  readonly text: string
  readonly tags?: Given<readonly string[]>
  readonly metadata?: Given<Json>
}

const maxPassageLength = 20_000
/** How many passages one request may add. */
export const maxNewPassages = 1_000

export function checkedPassages(
  field: string,
  inputs: readonly PassageInput[],
  { max }: { readonly max: number },
): Pick<Passage, 'text' | 'tags' | 'metadata'>[] {
  checkedCount(field, inputs, { max })
  return inputs.map(({ text, tags, metadata }, index) => ({
    text: checkedPassageText(`${field}.${index}.text`, text),
    tags: checkedTags(`${field}.${index}.tags`, tags ?? []),
    metadata: checkedObject(`${field}.${index}.metadata`, metadata ?? {}),
  }))
}

export function checkedPassageText(field: string, text: string): string {
  return checkedName(field, text, { max: maxPassageLength })
}

export function checkedQuery(field: string, query: string): string {
  const checked = checkedName(field, query, { max: maxPassageLength })
  if (/[\p{L}\p{N}]/u.test(checked)) return checked
  throw badUserInput(field, 'It has no word. Expected words to search for.')
}

export interface Ranked {
  readonly id: string
  readonly score: number
}

/** Weighs a rank against the next ones, as usual for reciprocal rank fusion. */
const fusionConstant = 60

/** Joins lists of ids, each with the best first, by reciprocal rank fusion. */
export function fuseRanks(lists: readonly (readonly string[])[], limit: number): Ranked[] {
  const scores = new Map<string, number>()
  for (const list of lists) {
    for (const [rank, id] of list.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (fusionConstant + rank + 1))
  }
  return [...scores]
    .map(([id, score]) => ({ id, score }))
    .toSorted((one, other) => other.score - one.score || (one.id < other.id ? 1 : -1))
    .slice(0, limit)
}

/** The ids of the candidates, nearest first. Their vectors all have the same length. */
export function rankBySimilarity(
  vector: Float32Array,
  candidates: readonly { readonly id: string; readonly vector: Int16Array }[],
): string[] {
  const ranked = candidates.map((candidate) => ({ id: candidate.id, score: dotProduct(vector, candidate.vector) }))
  return ranked.toSorted((one, other) => other.score - one.score).map(({ id }) => id)
}

function dotProduct(one: Float32Array, other: Int16Array): number {
  let sum = 0
  for (let index = 0; index < one.length; index += 1) sum += one[index]! * other[index]!
  return sum
}
