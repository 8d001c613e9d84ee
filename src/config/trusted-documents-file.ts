import { createHash } from 'node:crypto'

import { isJsonObject, type Json } from '../util/json.ts'
import type { Shape } from './file.ts'

/** Algorithms whose hashes can be told by their length in hexadecimal digits. */
const algorithms: Readonly<Record<number, string>> = { 32: 'md5', 40: 'sha1', 64: 'sha256' }

/**
 * The file HOLDPOINT_TRUSTED_DOCUMENTS, as texts by id. It is an object with the text of each document by its id, as
 * GraphQL Code Generator and Relay write it, or Apollo's manifest of persisted queries. Whether the texts are valid is
 * checked later, against the schema.
 */
export const trustedDocumentsFile: Shape<ReadonlyMap<string, string>> = (place) => {
  const documents = new Map<string, string>()
  for (const [id, text] of entriesOf(place.value)) {
    if (typeof id !== 'string' || id === '' || typeof text !== 'string')
      throw place.wrong(
        `has ${id === undefined ? 'an operation without an id' : `no document for ${JSON.stringify(id)}`}: expected an id and its text`,
      )
    const [, digits = ''] = /^(?:sha256:)?([0-9a-f]+)$/i.exec(id) ?? []
    const algorithm = algorithms[digits.length]
    if (algorithm && digits.toLowerCase() !== createHash(algorithm).update(text).digest('hex'))
      throw place.wrong(`has "${id}", which looks like a ${algorithm} hash, but it is not the one of its document`)
    documents.set(id, text)
  }
  if (documents.size === 0)
    throw place.mustBe("an object with documents by their hash, or Apollo's persisted query manifest")
  return documents
}

function entriesOf(json: Json | undefined): [Json | undefined, Json | undefined][] {
  if (!isJsonObject(json)) return []
  const { format, operations } = json
  if (format !== 'apollo-persisted-query-manifest') return Object.entries(json)
  if (!Array.isArray(operations)) return []
  return operations.map((operation) =>
    isJsonObject(operation) ? [operation['id'], operation['body']] : [undefined, undefined],
  )
}
