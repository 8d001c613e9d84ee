import type { ModelPart } from './models/model-request.ts'

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

/** Counts what a model has written, and reports when the answer exceeds a limit. */
export class AnswerMeter {
  readonly #startedAt: number
  readonly #now: () => number
  #text = 0
  #arguments = 0
  #providerData = 0
  #calls = 0
  #emptyChunks = 0
  readonly #items = new Set<string>()

  constructor(now: () => number) {
    this.#now = now
    this.#startedAt = now()
  }

  /** Which limit the answer exceeds with this part, as a clause about the answer. Undefined if it exceeds none. */
  excessOf(part: ModelPart): string | undefined {
    this.#emptyChunks = saysNothing(part) ? this.#emptyChunks + 1 : 0
    if (this.#emptyChunks > answerLimits.emptyChunks) {
      return `it has more than ${shown('emptyChunks')} chunks in a row without content`
    }
    if (this.#now() - this.#startedAt > answerLimits.minutes * 60_000)
      return `it took more than ${answerLimits.minutes} minutes`
    if (!('item' in part)) return undefined
    this.#items.add(part.item)
    if (this.#items.size > answerLimits.items) return `it has more than ${shown('items')} pieces of text and calls`
    return this.#excessOfContent(part)
  }

  #excessOfContent(part: Extract<ModelPart, { readonly item: string }>): string | undefined {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        this.#text += part.text.length
        return this.#text > answerLimits.textCharacters
          ? `it has more than ${shown('textCharacters')} characters of text and reasoning`
          : undefined
      case 'arguments':
        this.#arguments += part.text.length
        return this.#arguments > answerLimits.argumentCharacters
          ? `it has more than ${shown('argumentCharacters')} characters of tool arguments`
          : undefined
      case 'call':
        this.#calls += 1
        if (this.#calls > answerLimits.calls) return `it has more than ${shown('calls')} tool calls`
        if (part.name.length > answerLimits.nameCharacters)
          return `it has a tool call whose name has more than ${shown('nameCharacters')} characters`
        return part.callId.length > answerLimits.idCharacters
          ? `it has a tool call whose id has more than ${shown('idCharacters')} characters`
          : undefined
      case 'done':
        if (part.provider) this.#providerData += JSON.stringify(part.provider.data).length
        return this.#providerData > answerLimits.providerDataCharacters
          ? `it has more than ${shown('providerDataCharacters')} characters of reasoning data`
          : undefined
      default:
        return part satisfies never
    }
  }
}

/** A sign of life, or token counts, but no progress of the answer itself. */
export function saysNothing(part: ModelPart): boolean {
  return part.type === 'alive' || part.type === 'usage'
}

function shown(limit: keyof typeof answerLimits): string {
  return answerLimits[limit].toLocaleString('en')
}
