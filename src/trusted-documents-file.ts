import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

import { isJsonObject, type Json } from './util/json.ts'
import { StartError } from './util/start-error.ts'

/** Algorithms whose hashes can be told by their length in hexadecimal digits. */
const algorithms: Readonly<Record<number, string>> = { 32: 'md5', 40: 'sha1', 64: 'sha256' }

/**
 * Reads HOLDPOINT_TRUSTED_DOCUMENTS and returns texts by id. The file is an object with the text of each document by
 * its id, as GraphQL Code Generator and Relay write it, or Apollo's manifest of persisted queries. Throws a StartError
 * that says what is wrong. Whether the texts are valid is checked later, against the schema.
 */
export function readTrustedDocuments(path: string): ReadonlyMap<string, string> {
  const fail = (what: string) => new StartError(`HOLDPOINT_TRUSTED_DOCUMENTS: ${what} (${path}).`)
  let json: Json
  try {
    json = JSON.parse(readFileSync(path, 'utf8')) as Json
  } catch (error) {
    throw fail(`the file cannot be read as JSON: ${(error as Error).message}`)
  }
  const documents = new Map<string, string>()
  for (const [id, text] of entriesOf(json) ?? []) {
    if (typeof id !== 'string' || id === '' || typeof text !== 'string')
      throw fail(
        `${id === undefined ? 'an operation without an id' : JSON.stringify(id)} has no document: expected an id and its text`,
      )
    const [, digits] = /^(?:sha256:)?([0-9a-f]+)$/i.exec(id) ?? []
    const algorithm = algorithms[digits?.length ?? 0]
    if (algorithm && digits!.toLowerCase() !== createHash(algorithm).update(text).digest('hex'))
      throw fail(`"${id}" looks like a ${algorithm} hash, but it is not the one of its document`)
    documents.set(id, text)
  }
  if (documents.size === 0)
    throw fail("expected an object with documents by their hash, or Apollo's persisted query manifest")
  return documents
}

function entriesOf(json: Json): [Json | undefined, Json | undefined][] | undefined {
  if (!isJsonObject(json)) return undefined
  const { format, operations } = json
  if (format !== 'apollo-persisted-query-manifest') return Object.entries(json)
  if (!Array.isArray(operations)) return undefined
  return operations.map((operation) =>
    isJsonObject(operation) ? [operation['id'], operation['body']] : [undefined, undefined],
  )
}
