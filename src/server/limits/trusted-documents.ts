import { parse, validate, type GraphQLSchema } from 'graphql'

import { ClientError } from '../../graphql/errors.ts'
import { errorMessage } from '../../util/error-message.ts'
import { isJsonObject } from '../../util/json.ts'
import { StartError } from '../../util/start-error.ts'
import { clientDocuments, consoleDocuments } from './own-documents.ts'

/** If given, the server executes these documents and no others. */
export interface TrustedDocuments {
  readonly byId: ReadonlyMap<string, string>
  readonly texts: ReadonlySet<string>
}

/** The parts of a request that say which document to execute, as the client sent them. */
export type GivenDocument = Readonly<Partial<Record<'query' | 'documentId' | 'id' | 'doc_id' | 'extensions', unknown>>>

/** Checks the documents of HOLDPOINT_TRUSTED_DOCUMENTS and adds those of the client library and the console. */
export function createTrustedDocuments(
  schema: GraphQLSchema,
  byId: ReadonlyMap<string, string>,
  options: { readonly console: boolean },
): TrustedDocuments {
  for (const [id, text] of byId) {
    const problem = problemOf(schema, text)
    if (problem !== undefined) throw new StartError(`HOLDPOINT_TRUSTED_DOCUMENTS: the document "${id}": ${problem}`)
  }
  const own = options.console ? [...clientDocuments, ...consoleDocuments] : clientDocuments
  return {
    byId: new Map([...byId].map(([id, text]) => [plainId(id), text])),
    texts: new Set([...byId.values(), ...own]),
  }
}

function problemOf(schema: GraphQLSchema, text: string): string | undefined {
  try {
    return validate(schema, parse(text), undefined, { maxErrors: 1 })[0]?.message
  } catch (error) {
    return errorMessage(error)
  }
}

/**
 * The text of the document that a request asks for, by its text or by the id of a trusted document. Undefined if the
 * request has neither. WebSocket clients that send an id have to send an empty text too.
 */
export function documentOf(given: GivenDocument, trusted: TrustedDocuments | undefined): unknown {
  const { query } = given
  const persisted = isJsonObject(given.extensions) ? given.extensions['persistedQuery'] : undefined
  if (!trusted) {
    if (persisted && !query) throw notSupported()
    return query
  }
  if (query) {
    if (typeof query !== 'string' || trusted.texts.has(query)) return query
    throw new ClientError('BAD_REQUEST', 'This server executes only trusted documents, and this is not one of them.')
  }
  const hash = isJsonObject(persisted) ? persisted['sha256Hash'] : undefined
  const id = given.documentId ?? given.id ?? given.doc_id ?? hash
  if (typeof id !== 'string') return query
  const text = trusted.byId.get(plainId(id))
  if (text !== undefined) return text
  throw new ClientError(
    'BAD_REQUEST',
    `There is no trusted document ${JSON.stringify(id.slice(0, 100))}. The server must be started with the documents of this client.`,
  )
}

/** The draft of GraphQL over HTTP writes hashes with a prefix. Most clients send them without it. */
function plainId(id: string): string {
  return id.replace(/^sha256:/, '')
}

/** Apollo's and urql's links look for this message, and then send the query itself. */
function notSupported(): ClientError {
  return new ClientError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported')
}

/**
 * graphql-ws closes the socket of a client whose operation has no text. For an operation with an id, this adds an empty
 * text while the message is parsed. The key of the whole message is empty.
 */
export function addMissingText(key: string, value: unknown): unknown {
  if (key !== '' || !isJsonObject(value) || value['type'] !== 'subscribe' || !isJsonObject(value['payload']))
    return value
  return { ...value, payload: { query: '', ...value['payload'] } }
}
