import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { createGatewayRuntime } from '@graphql-hive/gateway-runtime'

export interface Gateway {
  readonly url: string
  close(): Promise<void>
}

interface GatewayOptions {
  readonly supergraph: string
  /** How the gateway subscribes to Holdpoint. Clients of the gateway may use something else. */
  readonly subscribesBy: 'events' | 'WebSocket'
  readonly port: number
}

/** Hive Gateway in front of Holdpoint and other subgraphs. Port 0 takes a free port. */
export async function startGateway({ supergraph, subscribesBy, port }: GatewayOptions): Promise<Gateway> {
  const gateway = createGatewayRuntime({
    supergraph,
    logging: 'error',
    // The subgraphs decide what the caller may see, so they get the caller's key or token.
    propagateHeaders: {
      fromClientToSubgraphs({ request }) {
        const authorization = request.headers.get('authorization')
        return authorization === null ? undefined : { authorization }
      },
    },
    ...(subscribesBy === 'WebSocket' && {
      transportEntries: {
        holdpoint: {
          options: {
            subscriptions: {
              kind: 'ws',
              location: '/graphql',
              options: { connectionParams: { Authorization: '{context.headers.authorization}' } },
            },
          },
        },
      },
    }),
  })
  const server = createServer((request, response) => void gateway(request, response))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${taken}/graphql`,
    async close() {
      server.closeAllConnections()
      server.close()
      await gateway[Symbol.asyncDispose]()
    },
  }
}
