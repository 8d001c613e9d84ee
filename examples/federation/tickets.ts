import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { createSchema, createYoga } from 'graphql-yoga'

/** A subgraph of another team. It knows runs and agents by their ids alone, and adds fields to them. */
export const ticketsSdl = `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@shareable"])

  type Query {
    tickets: [Ticket!]!
  }

  type Ticket {
    id: ID!
    title: String!
    agent: Agent
  }

  type Agent @key(fields: "id") {
    id: ID!
    owner: String!
  }

  type Run @key(fields: "id") {
    id: ID!
    tickets: [Ticket!]!
  }

  type PageInfo @shareable {
    hasNextPage: Boolean!
    hasPreviousPage: Boolean!
    startCursor: String
    endCursor: String
  }
`

interface Reference {
  readonly __typename: string
  readonly id: string
}

/** A library such as @apollo/subgraph would do without the second copy of the types. */
function createTicketsSchema(agentId: string) {
  return createSchema({
    typeDefs: `
      scalar _Any
      union _Entity = Agent | Run
      type Query { tickets: [Ticket!]! _entities(representations: [_Any!]!): [_Entity]! }
      type Ticket { id: ID! title: String! agent: Agent }
      type Agent { id: ID! owner: String! }
      type Run { id: ID! tickets: [Ticket!]! }`,
    resolvers: {
      _Entity: { __resolveType: ({ __typename }: Reference) => __typename },
      Query: {
        tickets: () => [{ id: '1', title: 'Where is my parcel?', agent: { __typename: 'Agent', id: agentId } }],
        _entities: (_root: unknown, { representations }: { representations: readonly Reference[] }) => representations,
      },
      Agent: { owner: () => 'Grace' },
      Run: { tickets: ({ id }: Reference) => [{ id: '2', title: `made by ${id}` }] },
    },
  })
}

export interface Tickets {
  readonly url: string
  /** What the gateway sent as `Authorization`, in order. */
  readonly keys: readonly (string | null)[]
  close(): void
}

/** Port 0 takes a free port. `agentId` is the agent of the only ticket. */
export async function startTickets(agentId: string, port: number): Promise<Tickets> {
  const keys: (string | null)[] = []
  const yoga = createYoga({
    schema: createTicketsSchema(agentId),
    logging: false,
    plugins: [{ onRequest: ({ request }) => void keys.push(request.headers.get('authorization')) }],
  })
  const server = createServer((request, response) => void yoga(request, response))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const { port: taken } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${taken}/graphql`, keys, close: () => server.close() }
}
