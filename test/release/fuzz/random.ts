/** Repeats a test: the seed is part of every failure's message. */
export const seed = Number(process.env['HOLDPOINT_FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

/** Random choices that a seed repeats. */
export interface Random {
  /** From 0 up to, but not including, `limit`. */
  below(limit: number): number
  chance(probability: number): boolean
  pick<Value>(values: readonly Value[]): Value
}

/** mulberry32: small, fast, and good enough for this. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const random: Random = {
    below: (limit) => Math.floor(next() * limit),
    chance: (probability) => next() < probability,
    pick: (values) => values[random.below(values.length)]!,
  }
  return random
}
