import type { ModelPart } from './model-request.ts'

/** Limits on one answer of a model, far above what models write, and low enough to do no harm. */
export const answerLimits = {
  /** Text and reasoning together. */
  textCharacters: 2_000_000,
  /** Arguments of all calls together. */
  argumentCharacters: 2_000_000,
  /** What the provider wants back with its reasoning, for the whole answer. */
  providerDataCharacters: 8_000_000,
  calls: 1_000,
  /** Texts, pieces of reasoning and calls together. */
  items: 5_000,
  /** The name of a call. It is indexed, and Postgres indexes at most 2,704 bytes: three for each of these, and more. */
  nameCharacters: 500,
  /** The id that the provider gives to a call. */
  idCharacters: 1_000,
  /** Consecutive chunks without content. Some servers send one for each token of hidden reasoning. */
  emptyChunks: 50_000,
  minutes: 360,
} as const

/** What of an answer is counted, and how an error calls it. */
const counted = {
  emptyChunks: 'chunks in a row without content',
  items: 'pieces of text and calls',
  textCharacters: 'characters of text and reasoning',
  argumentCharacters: 'characters of tool arguments',
  providerDataCharacters: 'characters of reasoning data',
  calls: 'tool calls',
} as const satisfies Partial<Record<keyof typeof answerLimits, string>>

/** Counts what a model has written, and reports when the answer exceeds a limit. */
export class AnswerMeter {
  readonly #startedAt: number
  readonly #now: () => number
  readonly #counts: Partial<Record<keyof typeof counted, number>> = {}
  readonly #items = new Set<string>()

  constructor(now: () => number) {
    this.#now = now
    this.#startedAt = now()
  }

  /** Which limit the answer exceeds with this part, as a clause about the answer. Undefined if it exceeds none. */
  excessOf(part: ModelPart): string | undefined {
    if (!saysNothing(part)) this.#counts.emptyChunks = 0
    else {
      const excess = this.#count('emptyChunks', 1)
      if (excess) return excess
    }
    if (this.#now() - this.#startedAt > answerLimits.minutes * 60_000)
      return `it took more than ${answerLimits.minutes} minutes`
    if (!('item' in part)) return undefined
    const isNew = !this.#items.has(part.item)
    this.#items.add(part.item)
    return this.#count('items', isNew ? 1 : 0) ?? this.#excessOfContent(part)
  }

  #count(what: keyof typeof counted, more: number): string | undefined {
    const count = (this.#counts[what] ?? 0) + more
    this.#counts[what] = count
    return count > answerLimits[what] ? `it has more than ${shown(what)} ${counted[what]}` : undefined
  }

  #excessOfContent(part: Extract<ModelPart, { readonly item: string }>): string | undefined {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return this.#count('textCharacters', part.text.length)
      case 'arguments':
        return this.#count('argumentCharacters', part.text.length)
      case 'call':
        return this.#count('calls', 1) ?? excessOfCall(part)
      case 'done':
        return part.provider && this.#count('providerDataCharacters', JSON.stringify(part.provider.data).length)
      default:
        return part satisfies never
    }
  }
}

function excessOfCall({ name, callId }: { readonly name: string; readonly callId: string }): string | undefined {
  if (name.length > answerLimits.nameCharacters)
    return `it has a tool call whose name has more than ${shown('nameCharacters')} characters`
  return callId.length > answerLimits.idCharacters
    ? `it has a tool call whose id has more than ${shown('idCharacters')} characters`
    : undefined
}

/** A sign of life, or token counts, but no progress of the answer itself. */
export function saysNothing(part: ModelPart): boolean {
  return part.type === 'alive' || part.type === 'usage'
}

function shown(limit: keyof typeof answerLimits): string {
  return answerLimits[limit].toLocaleString('en')
}
