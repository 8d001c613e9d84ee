import { setImmediate as nextTurn } from 'node:timers/promises'

import type { Embeddings } from '../provider.ts'

const dimensions = 512
const handle = 'demo/embedding'

/**
 * Vectors without a network: a text is the sum of its words and their three-letter parts, each of which has a direction
 * of its own that follows from its letters. Texts that share words or stems are near each other.
 */
export const demoEmbeddings: Embeddings = {
  has: (given) => given === handle,
  async embed(_handle, texts) {
    const vectors: Float32Array[] = []
    for (const text of texts) {
      vectors.push(vectorOf(text))
      // A long text takes milliseconds.
      await nextTurn()
    }
    return vectors
  },
}

function vectorOf(text: string): Float32Array {
  const vector = new Float32Array(dimensions)
  for (const [gram, weight] of gramsOf(text)) addDirection(vector, gram, weight)
  return vector
}

/** What is repeated counts more, but not as many times more. */
function gramsOf(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  const count = (gram: string, by: number) => counts.set(gram, (counts.get(gram) ?? 0) + by)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    // Short words say little.
    const weight = word.length > 3 ? 1 : 0.2
    count(` ${word} `, 2 * weight)
    const spaced = ` ${word} `
    for (let index = 0; index + 3 <= spaced.length; index += 1) count(spaced.slice(index, index + 3), weight / 2)
  }
  for (const [gram, weight] of counts) counts.set(gram, Math.sqrt(weight))
  return counts
}

/** Adds or subtracts the weight in each dimension, by bits that follow from the letters. */
function addDirection(vector: Float32Array, gram: string, weight: number): void {
  let state = 0x811c9dc5
  for (let index = 0; index < gram.length; index += 1) state = Math.imul(state ^ gram.charCodeAt(index), 0x01000193)
  for (let start = 0; start < dimensions; start += 32) {
    state = (state + 0x9e3779b9) | 0
    let bits = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97)
    bits ^= bits >>> 15
    for (let bit = 0; bit < 32; bit += 1) vector[start + bit]! += (bits >>> bit) & 1 ? weight : -weight
  }
}
