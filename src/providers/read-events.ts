import type { ModelPart, ModelRequest } from '../domain/model-request.ts'
import { isJsonObject } from '../util/json.ts'
import { UnfitPieceError } from './errors.ts'

/**
 * The parts that `read` makes of each event. An event without content becomes a sign of life. Readers trust the SDKs'
 * types, which are not checked at run time: an event of another shape makes them throw a TypeError, which fails the
 * request.
 */
export async function* readEvents<Event>(
  events: AsyncIterable<Event>,
  { exchange }: Pick<ModelRequest, 'exchange'>,
  read: (event: Event) => Iterable<ModelPart>,
): AsyncGenerator<ModelPart, void> {
  for await (const event of events) {
    if (!isJsonObject(event)) throw new UnfitPieceError()
    exchange?.received(event)
    const parts = partsOf(event, read)
    yield* parts.length > 0 ? parts : [{ type: 'alive' as const }]
  }
}

function partsOf<Event>(event: Event, read: (event: Event) => Iterable<ModelPart>): ModelPart[] {
  try {
    return [...read(event)]
  } catch (error) {
    throw error instanceof TypeError ? new UnfitPieceError() : error
  }
}
