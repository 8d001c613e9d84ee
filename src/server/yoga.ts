import type { ServerResponse } from 'node:http'

import type { GraphQLSchema } from 'graphql'
import { createYoga, type YogaServerInstance } from 'graphql-yoga'

import { toClientError } from '../graphql/errors.ts'
import type { Log } from '../util/log.ts'
import { useAuthentication, type Authenticate, type ServerContext } from './authentication.ts'
import { useErrorCodes } from './error-codes.ts'
import { useEventStreams } from './event-streams.ts'
import { documentLimits, useExecutionTimeout, useOperationCheck, type Limits } from './limits.ts'
import type { KeyWatch } from './key-watch.ts'
import type { SharedExecution } from './shared-execution.ts'
import { useContentTypes, useKnownParameters } from './request-rules.ts'

export type Yoga<Viewer> = YogaServerInstance<ServerContext<Viewer>, object>

interface YogaOptions<Viewer> {
  readonly schema: GraphQLSchema
  readonly authenticate: Authenticate<Viewer>
  readonly createContext: (viewer: Viewer) => object
  readonly log: Log
  readonly limits: Limits
  /** Every answer that is an event stream, while it is open. */
  readonly eventStreams: Set<ServerResponse>
  readonly sharedExecution: SharedExecution
  readonly keyWatch: KeyWatch
}

/**
 * The GraphQL server as an ordered list. The first three plugins are about HTTP requests and do not run on WebSockets; the rest
 * run on every transport, because the WebSocket takes parse, validate, execute and subscribe from here.
 */
export function createGraphQLServer<Viewer>(options: YogaOptions<Viewer>): Yoga<Viewer> {
  const { schema, authenticate, createContext, log, limits, eventStreams, sharedExecution, keyWatch } = options
  return createYoga<ServerContext<Viewer>, object>({
    schema,
    context: ({ viewer }) => createContext(viewer),
    plugins: [
      useContentTypes(),
      useAuthentication(authenticate),
      useKnownParameters(),
      ...documentLimits(limits),
      useErrorCodes(log),
      useOperationCheck(limits),
      useExecutionTimeout(limits),
      useEventStreams(eventStreams, keyWatch),
      sharedExecution.plugin,
    ],
    maskedErrors: { maskError: (error) => toClientError(error, log), isDev: false },
    maxRequestBodySize: limits.requestBytes,
    graphqlEndpoint: '/graphql',
    // Bearer keys only, so nothing is sent along by a browser; and no page of another origin may read an answer or send JSON: the default
    // would reflect every origin, with credentials. GraphiQL and the console come from this origin.
    cors: false,
    batching: false,
    multipart: false,
    graphiql: false,
    landingPage: false,
    // yoga answers every URL that ends like this, also one with a query; no URL ends in a line break.
    healthCheckEndpoint: '\n',
    // toClientError logs what is worth logging.
    logging: false,
  })
}
