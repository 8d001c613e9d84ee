import { EmbeddingError } from '../domain/models/model.ts'
import type { EngineContext } from '../engine/engine-context.ts'
import {
  claimTextsToEmbed,
  dropEmbedding,
  postponeEmbeddings,
  storeVectors,
  type TextToEmbed,
} from '../store/memory/passage-embeddings.ts'

const timeoutMs = 60_000
const firstWaitMs = 5_000
const longestWaitMs = 600_000

type EmbedContext = Pick<EngineContext, 'db' | 'clock' | 'catalog' | 'log'>

/**
 * Embeds the texts that are due, batch by batch, until none is left or `stop` is aborted. Each process takes texts that
 * no other has. If it dies, they are due again after a while. A provider that is away delays them and fails nothing.
 */
export async function embedPassages(
  context: EmbedContext,
  { providers, stop }: { readonly providers: readonly string[]; readonly stop: AbortSignal },
): Promise<void> {
  while (!stop.aborted) {
    const now = context.clock.now()
    const until = new Date(now.getTime() + 2 * timeoutMs)
    const texts = await claimTextsToEmbed(context.db, { providers, now, until })
    if (texts.length === 0) return
    await embed(context, texts, stop)
  }
}

/** If the provider refuses one of several texts, each half is asked for alone, until the refused one is. */
async function embed(context: EmbedContext, texts: readonly TextToEmbed[], stop: AbortSignal): Promise<void> {
  const { db, clock, catalog, log } = context
  const [first] = texts
  if (!first) return
  const { model, attempt } = first
  const signal = AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)])
  try {
    const vectors = await catalog.embed(
      model,
      texts.map(({ text }) => text),
      signal,
    )
    await storeVectors(
      db,
      model,
      texts.flatMap(({ passageId }, index) => vectors.slice(index, index + 1).map((vector) => ({ passageId, vector }))),
    )
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error
    const facts = { model, passages: texts.length, reason: error.message }
    if (error.isRefusal && texts.length > 1) {
      const half = texts.length >> 1
      await embed(context, texts.slice(0, half), stop)
      return embed(context, texts.slice(half), stop)
    }
    if (error.isRefusal) {
      log.warn(facts, 'a passage was refused by its embedding model; it is found by its words')
      return dropEmbedding(db, first)
    }
    const waitMs = stop.aborted
      ? 0
      : Math.min(firstWaitMs * 2 ** (attempt - 1), longestWaitMs) * (0.5 + Math.random() / 2)
    if (!stop.aborted) log.warn(facts, 'passages could not be embedded; retrying later')
    const ids = texts.map(({ passageId }) => passageId)
    await postponeEmbeddings(db, ids, new Date(clock.now().getTime() + waitMs))
  }
}
