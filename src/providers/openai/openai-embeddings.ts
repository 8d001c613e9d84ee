import type OpenAI from 'openai'

import { abortable } from '../../util/abort.ts'
import { modelName } from '../models.ts'
import type { Embeddings } from '../provider.ts'

/** `POST /embeddings`, which most compatible servers have too. */
export function embedder(client: () => Promise<OpenAI>): Embeddings['embed'] {
  return async (handle, texts, signal) => {
    const { embeddings } = await client()
    // Not every server knows base64, the SDK's own default.
    const body = { model: modelName(handle), input: [...texts], encoding_format: 'float' as const }
    const { data } = await abortable(embeddings.create(body, { signal }), signal)
    return data.toSorted((one, other) => one.index - other.index).map(({ embedding }) => embedding)
  }
}
