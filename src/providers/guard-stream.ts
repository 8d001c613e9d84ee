import type { ModelPart } from '../domain/model-request.ts'
import type { Usage } from '../domain/run.ts'
import { failureOf, UnfitPieceError, unusable } from './errors.ts'

/** Holds what the port promises: pieces that fit, counts that are counts, one end, no exception, silence after an abort. */
export async function* guardStream(
  parts: AsyncIterable<ModelPart>,
  { signal, secret }: { readonly signal: AbortSignal; readonly secret: string | undefined },
): AsyncGenerator<ModelPart, void> {
  const kinds = new Map<string, ItemKind>()
  try {
    for await (const part of parts) {
      if (signal.aborted) return
      checkItem(part, kinds)
      yield part.type === 'finish' ? { ...part, usage: countable(part.usage) } : part
      if (part.type === 'finish' || part.type === 'failure') return
    }
  } catch (error) {
    if (!signal.aborted) yield failureOf(error, { secret })
    return
  }
  // An SDK ends its loop quietly where the body ends early, and where the signal was aborted.
  if (signal.aborted) return
  yield unusable('The model stopped in the middle of its answer.', 'The stream ended without saying why.')
}

type ItemKind = 'text' | 'reasoning' | 'call'

/** An item is one thing from its first piece to its last, and arguments are a call's that has begun. */
function checkItem(part: ModelPart, kinds: Map<string, ItemKind>): void {
  if (!('item' in part) || part.type === 'done') return
  const known = kinds.get(part.item)
  const fits = part.type === 'arguments' ? known === 'call' : known === undefined || known === part.type
  if (!fits || (part.type === 'call' && known)) throw new UnfitPieceError()
  if (part.type !== 'arguments') kinds.set(part.item, part.type)
}

/** Far above every window there is, and far below what the database counts to. */
const mostTokens = 20_000_000

/** What is no count of tokens counts for nothing: it is for information, and must not cost the answer. */
function countable(usage: Usage): Usage {
  const count = (value: unknown) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostTokens ? Number(value) : 0
  return {
    inputTokens: count(usage.inputTokens),
    outputTokens: count(usage.outputTokens),
    cachedInputTokens: count(usage.cachedInputTokens),
    reasoningTokens: count(usage.reasoningTokens),
  }
}
