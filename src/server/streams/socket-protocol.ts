import type { IncomingMessage } from 'node:http'

import { getOperationAST, type ExecutionArgs, type ExecutionResult, type GraphQLError } from 'graphql'
import { CloseCode, makeServer, type Context, type SubscribePayload } from 'graphql-ws'
import { WebSocket } from 'ws'

import { ClientError, toClientError } from '../../graphql/errors.ts'
import { currentTrace, parseTraceparent, withTrace } from '../../util/trace-context.ts'
import type { Client } from '../limits/client-limits.ts'
import type { Limits } from '../limits/limits.ts'
import { unknownOperation } from '../limits/operation-check.ts'
import { addMissingText, documentOf } from '../limits/trusted-documents.ts'
import type { Transport } from '../transport.ts'
import type { Yoga } from '../yoga.ts'
import type { Outlet } from './outlet.ts'
import { neverAnswered, sendResults } from './socket-stream.ts'

/** The state of one socket. `connection_init` sets who the client is. */
export interface Connection<Viewer> {
  readonly request: IncomingMessage
  readonly socket: WebSocket
  readonly outlet: Outlet
  /** The key that the client sent. Null if there is none. */
  key?: string | null
  viewer?: Viewer
  client?: Client
}

/** graphql-ws executes what `onSubscribe` returns. Here `onSubscribe` has executed it already. */
interface ExecutedArgs extends ExecutionArgs {
  readonly result: Result
}

type Result = ExecutionResult | AsyncIterableIterator<ExecutionResult>

interface Operation {
  readonly id: string
  readonly payload: SubscribePayload
}

/** Close codes from the registry of RFC 6455, after which clients reconnect by themselves. */
export const closeCodes = { tooLarge: 1009, restarting: 1012, tryAgainLater: 1013 } as const

/** graphql-transport-ws, as the library speaks it. Each operation fails by itself, with an `error` message. */
export function createSocketProtocol<Viewer>(transport: Transport<Viewer>, yoga: Yoga<Viewer>) {
  const { identify, clients, clientOf, keyWatch, log, limits, sharedExecution, trustedDocuments } = transport

  return makeServer<Record<string, unknown>, Connection<Viewer>>({
    ...(trustedDocuments && { jsonMessageReviver: addMissingText }),
    async onConnect({ connectionParams, extra }) {
      try {
        return await greet(extra, keyOf(connectionParams ?? {}))
      } catch (error) {
        const { code, message } = toClientError(error, log)
        // Clients retry after the 4403 that `false` means, but give up at once after 4401. Only the first close counts.
        if (code === 'UNAUTHENTICATED') extra.socket.close(CloseCode.Unauthorized, closeReason(message))
        // The second sentence has the id of the error, and both fit.
        else if (code === 'INTERNAL_SERVER_ERROR') extra.socket.close(closeCodes.tryAgainLater, `${code}: ${message}`)
        else if (code !== 'FORBIDDEN') extra.socket.close(closeCodes.tryAgainLater, closeReason(`${code}: ${message}`))
        return false
      }
    },
    async onSubscribe(context, id, payload) {
      const mark = {} as AsyncIterable<never>
      context.subscriptions[id] = mark
      const answer = await answerTo(context, { id, payload })
      if (context.subscriptions[id] === mark) return answer
      // The client has completed the operation, or the socket is closed. The library identifies operations only by
      // their ids, and the client may use this id again: the library would send this answer as the new operation's.
      if ('result' in answer && Symbol.asyncIterator in answer.result) await answer.result.return?.()
      return neverAnswered()
    },
    execute: (args) => (args as ExecutedArgs).result,
    subscribe: (args) => (args as ExecutedArgs).result,
    onError: (_context, _id, _payload, errors) => errors.map((error) => toClientError(error, log).toJSON()),
  })

  /** Finds out who the client is. False if it has left meanwhile. */
  async function greet(connection: Connection<Viewer>, sentKey: string | null): Promise<boolean> {
    const { socket, request } = connection
    const key = sentKey ?? request.headers.authorization ?? null
    clients.takeRequest(key)
    const viewer = await identify(key, request.headers.host)
    // `close` is emitted only once.
    if (socket.readyState !== WebSocket.OPEN) return false
    const client = clientOf(viewer)
    socket.once('close', clients.openSocket(client))
    Object.assign(connection, { viewer, client, key })
    if (key === null) return true
    // Clients reconnect after this code, and get a new token if they have a function for it.
    const stopWatching = keyWatch.add(key, (reason) => socket.close(CloseCode.Forbidden, closeReason(reason)))
    socket.once('close', stopWatching)
    return true
  }

  async function answerTo(
    { extra, subscriptions }: Context<Record<string, unknown>, Connection<Viewer>>,
    operation: Operation,
  ): Promise<ExecutedArgs | readonly GraphQLError[]> {
    if (Object.keys(subscriptions).length > limits.operationsPerSocket) return [tooManyOperations(limits)]
    try {
      clients.takeRequest(extra.key ?? null)
      if (extra.client) clients.takeRequestOfTenant(extra.client)
      const trace = parseTraceparent(operation.payload.extensions?.['traceparent'])
      return await withTrace(trace ?? currentTrace(), () => runOperation(extra, operation))
    } catch (error) {
      return [toClientError(error, log)]
    }
  }

  async function runOperation(
    { outlet, viewer, key }: Connection<Viewer>,
    { id, payload }: Operation,
  ): Promise<ExecutedArgs | readonly GraphQLError[]> {
    const { operationName, variables } = payload
    // The library has checked that the query is a text.
    const query = documentOf({ ...payload }, trustedDocuments) as string
    const params = { query, variables: variables ?? {}, operationName: operationName ?? undefined }
    const { schema, parse, validate, contextFactory, execute, subscribe } = yoga.getEnveloped({
      viewer,
      key,
      params,
    } as never)
    const document = parse(query)
    const invalid = validate(schema, document)
    if (invalid.length > 0) return invalid
    const operation = getOperationAST(document, operationName)
    if (!operation) return [unknownOperation()]
    const contextValue: unknown = await contextFactory()
    const args: ExecutionArgs = { schema, document, operationName, variableValues: variables, contextValue }
    const result = (await (operation.operation === 'subscription' ? subscribe(args) : execute(args))) as Result
    if (Symbol.asyncIterator in result) {
      const stream = sharedExecution.streamOf(args)
      return { ...args, result: stream ? sendResults(stream, result, { outlet, id }) : result }
    }
    // If nothing was executed, the client gets an `error` message instead of a result without data.
    return 'data' in result ? { ...args, result } : (result.errors ?? [])
  }
}

/** A close reason has at most 123 bytes. Messages can be longer, and their first sentence says what is wrong. */
export function closeReason(message: string): string {
  return Buffer.from(/^.*?[.!](?= |$)/.exec(message)?.[0] ?? message)
    .subarray(0, 120)
    .toString()
    .replace(/\ufffd+$/, '')
}

function tooManyOperations({ operationsPerSocket }: Limits): ClientError {
  const message = `This socket has ${operationsPerSocket} open operations, which is the limit. Complete one, or open another socket.`
  return new ClientError('TOO_MANY_OPERATIONS', message)
}

function keyOf({ Authorization = null, authorization = Authorization }: Record<string, unknown>): string | null {
  return authorization === null || typeof authorization === 'string' ? authorization : JSON.stringify(authorization)
}
