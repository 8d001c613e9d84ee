import type { ModelPart, ModelRequest } from '../domain/models/model-request.ts'
import { isJsonObject } from '../util/json.ts'
import { UnfitPieceError } from './errors.ts'

/**
 * The parts that `read` makes of each event of a stream, which may still have to be opened, then those of `end`. An event without content becomes a sign of life.
 * Readers trust the SDKs' types, which are not checked at run time: an event of another shape makes them throw a
 * TypeError, which fails the request.
 */
export async function* readEvents<Event>(
  events: AsyncIterable<Event> | (() => Promise<AsyncIterable<Event>>),
  { exchange }: Pick<ModelRequest, 'exchange'>,
  read: (event: Event) => Iterable<ModelPart>,
  end: () => Iterable<ModelPart> = () => [],
): AsyncGenerator<ModelPart, void> {
  for await (const event of typeof events === 'function' ? await events() : events) {
    if (!isJsonObject(event)) throw new UnfitPieceError()
    exchange?.received(event)
    const parts = partsOf(event, read)
    // Not `yield*`, which wraps every part in more promises. There are as many parts as tokens.
    for (const part of parts) yield part
    if (parts.length === 0) yield { type: 'alive' }
  }
  for (const part of end()) yield part
}

function partsOf<Event>(event: Event, read: (event: Event) => Iterable<ModelPart>): ModelPart[] {
  try {
    return [...read(event)]
  } catch (error) {
    throw error instanceof TypeError ? new UnfitPieceError() : error
  }
}
