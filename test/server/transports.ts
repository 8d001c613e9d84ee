import type { GraphQLClient, GraphQLResult } from '../support/graphql-client.ts'

interface Operation {
  readonly query: string
  readonly variables?: Record<string, unknown>
  readonly operationName?: string
}

/** The first result of an operation over each of the server's transports. */
export const transports = {
  HTTP: (client: GraphQLClient, operation: Operation) =>
    client.request(operation.query, operation.variables, { body: JSON.stringify(operation) }),
  SSE: async (client: GraphQLClient, operation: Operation) => {
    const stream = await client.events(operation.query, operation.variables, operation.operationName)
    const result = await stream.next()
    stream.close()
    return result as GraphQLResult
  },
  WebSocket: async (client: GraphQLClient, operation: Operation) => {
    const socket = client.webSocket()
    const result = await socket.request(operation.query, operation.variables, operation.operationName)
    await socket.dispose()
    return result
  },
}

export type Transport = keyof typeof transports
export const transportNames = Object.keys(transports) as Transport[]
