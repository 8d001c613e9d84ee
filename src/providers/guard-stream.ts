import type { ModelPart } from '../domain/models/model-request.ts'
import type { TokenCounts } from '../domain/models/usage.ts'
import { storableJson, type Json } from '../util/json.ts'
import { failureOf, UnfitPieceError, unusable } from './errors.ts'

/**
 * Enforces the contract of a provider's stream: consistent pieces, sensible counts, one end, no exception, nothing
 * after an abort.
 */
export async function* guardStream(
  parts: AsyncIterable<ModelPart> | Iterable<ModelPart>,
  { signal, secret }: { readonly signal: AbortSignal; readonly secret: string | undefined },
): AsyncGenerator<ModelPart, void> {
  const kinds = new Map<string, ItemKind>()
  try {
    for await (const part of parts) {
      if (signal.aborted) return
      checkItem(part, kinds)
      yield 'usage' in part ? { ...part, usage: countable(part.usage) } : part
      if (part.type === 'finish' || part.type === 'failure') return
    }
  } catch (error) {
    if (!signal.aborted) yield failureOf(error, { secret })
    return
  }
  // An SDK's loop ends without an error when the body ends early, and when the signal is aborted.
  if (signal.aborted) return
  yield unusable('The model stopped in the middle of its answer.', 'The stream ended without a finish reason.')
}

type ItemKind = 'text' | 'reasoning' | 'call'

/**
 * An item keeps its kind from its first piece to its last, arguments belong to a call that has begun, text is a string,
 * and what the provider wants back can be stored.
 */
function checkItem(part: ModelPart, kinds: Map<string, ItemKind>): void {
  if (!('item' in part)) return
  if (part.type === 'done') {
    if (part.provider && !isStorable(part.provider.data)) throw new UnfitPieceError()
    return
  }
  const texts: unknown[] = part.type === 'call' ? [part.name, part.callId] : [part.text]
  if (!texts.every((text) => typeof text === 'string')) throw new UnfitPieceError()
  const known = kinds.get(part.item)
  const fits = part.type === 'arguments' ? known === 'call' : known === undefined || known === part.type
  if (!fits || (part.type === 'call' && known)) throw new UnfitPieceError()
  if (part.type !== 'arguments') kinds.set(part.item, part.type)
}

function isStorable(data: Json): boolean {
  try {
    return storableJson(data) !== undefined
  } catch {
    // It is nested too deeply.
    return false
  }
}

/** Far above every context window, and far below the database's largest integer. */
const mostTokens = 20_000_000

/** A value that is not a token count becomes 0: usage is informational, and must not make the answer fail. */
function countable(usage: TokenCounts): TokenCounts {
  const count = (value: unknown) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostTokens ? Number(value) : 0
  return {
    inputTokens: count(usage.inputTokens),
    outputTokens: count(usage.outputTokens),
    cachedInputTokens: count(usage.cachedInputTokens),
    reasoningTokens: count(usage.reasoningTokens),
    ...(usage.cacheWriteTokens !== undefined && { cacheWriteTokens: count(usage.cacheWriteTokens) }),
  }
}
