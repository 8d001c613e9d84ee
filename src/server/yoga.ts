import { GraphQLError, type GraphQLSchema } from 'graphql'
import { createYoga, type YogaServerInstance } from 'graphql-yoga'

import { toClientError } from '../graphql/errors.ts'
import type { Answer } from './answer.ts'
import { useAuthentication } from './access/authentication.ts'
import { useOpenSdl } from './access/open-sdl.ts'
import { useDocumentCache } from './limits/document-cache.ts'
import {
  useErrorCodes,
  useHiddenSchema,
  useContentTypes,
  useKnownParameters,
  useValueCount,
} from './limits/request-rules.ts'
import { useEventStreams } from './streams/event-streams.ts'
import { documentLimits, tooLarge, useExecutionTimeout } from './limits/limits.ts'
import { useOperationCheck } from './limits/operation-check.ts'
import { useOperationSpans, type OperationObserver } from './operation-spans.ts'
import { useMultipartSubscriptions } from './streams/multipart.ts'
import type { ServerContext, Transport } from './transport.ts'

export type Yoga<Viewer> = YogaServerInstance<ServerContext<Viewer>, object>

interface YogaOptions<Viewer> extends Transport<Viewer> {
  readonly schema: GraphQLSchema
  /** The schema of a subgraph, if anybody may read it. */
  readonly openSdl?: string | undefined
  readonly createContext: (viewer: Viewer) => object
  /** The open answers that are event streams. */
  readonly eventStreams: Set<Answer>
  /** Undefined if operations have no spans. */
  readonly observeOperation?: OperationObserver | undefined
}

/**
 * The GraphQL server as an ordered list of plugins. Those up to `useKnownParameters` are for HTTP requests and do not run on WebSockets.
 * The rest run on every transport, because the WebSocket endpoint takes parse, validate, execute and subscribe from
 * here.
 */
export function createGraphQLServer<Viewer>(options: YogaOptions<Viewer>): Yoga<Viewer> {
  const { schema, createContext, log, limits, eventStreams, sharedExecution } = options
  return createYoga<ServerContext<Viewer>, object>({
    schema,
    context: ({ viewer }) => createContext(viewer),
    plugins: [
      useContentTypes(),
      ...(options.openSdl === undefined ? [] : [useOpenSdl(options.openSdl, options.clients)]),
      useAuthentication(options),
      useValueCount(),
      useKnownParameters(options.trustedDocuments),
      useDocumentCache({ maxBytes: limits.documentCacheBytes }),
      ...documentLimits(limits),
      ...(limits.introspection ? [] : [useHiddenSchema()]),
      useErrorCodes(log),
      useOperationCheck(limits, options.clients),
      useExecutionTimeout(limits),
      ...(options.observeOperation ? [useOperationSpans(options.observeOperation)] : []),
      useEventStreams(eventStreams),
      useMultipartSubscriptions(log),
      sharedExecution.plugin,
    ],
    maskedErrors: {
      maskError: (error) => (isTooLarge(error) ? tooLarge(limits) : toClientError(error, log)),
      isDev: false,
    },
    maxRequestBodySize: limits.requestBytes,
    graphqlEndpoint: '/graphql',
    // `origin.ts` handles CORS. Yoga's default would allow every origin, with credentials.
    cors: false,
    // `useDocumentCache` does this. Yoga's own cache counts entries, whatever their size.
    parserAndValidationCache: false,
    batching: false,
    multipart: false,
    graphiql: false,
    landingPage: false,
    // Yoga would answer every URL that ends in its health check's path. No URL ends in a line break.
    healthCheckEndpoint: '\n',
    // `toClientError` logs errors.
    logging: false,
  })
}

function isTooLarge(error: unknown): boolean {
  return error instanceof GraphQLError && error.extensions['code'] === 'REQUEST_ENTITY_TOO_LARGE'
}
