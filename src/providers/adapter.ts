import type { ModelPart, ModelRequest } from '../domain/models/model-request.ts'
import type { JsonObject } from '../util/json.ts'
import type { Endpoint } from './endpoint.ts'
import { missingKey } from './errors.ts'
import { guardStream } from './guard-stream.ts'
import { knownModels, type ModelFamily } from './models.ts'
import type { Embeddings, Provider } from './provider.ts'

/** What a wire format is made of. */
interface Adapter {
  readonly family: ModelFamily
  /** What has to be set before the endpoint can be called. */
  readonly missing: string | undefined
  readonly bodyOf: (request: ModelRequest) => object
  readonly stream: (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelPart>
  readonly listModels?: NonNullable<Provider['listModels']>
  readonly embed?: Embeddings['embed']
}

/** A provider of a wire format at an endpoint. */
export function adapt(
  { name, apiKey, models: described }: Endpoint & { readonly name: string },
  { family, missing, bodyOf, stream, embed, ...listing }: Adapter,
): Provider {
  const models = knownModels(name, family, described)
  return {
    name,
    missing,
    ...listing,
    models: () => models.list,
    find: models.find,
    ...(embed && { embeddings: { has: (handle) => models.find(handle) !== undefined, embed } }),
    requestBody: (request) => bodyOf(request) as JsonObject,
    stream: (request, signal) =>
      guardStream(missing ? [missingKey(missing, request.model)] : stream(request, signal), { signal, secret: apiKey }),
  }
}
