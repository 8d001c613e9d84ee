import { compose } from './compose.ts'
import { startGateway } from './gateway.ts'
import { startTickets, ticketsSdl } from './tickets.ts'

/** The origin of a Holdpoint server that was started with HOLDPOINT_SUBGRAPH=1. */
const holdpoint = process.argv[2] ?? 'http://127.0.0.1:4000'

const answer = await fetch(`${holdpoint}/schema.graphql?subgraph=1`)
if (!answer.ok) throw new Error(await answer.text())

const tickets = await startTickets(process.argv[3] ?? 'agent_…', 4001)
const supergraph = compose([
  { name: 'holdpoint', url: `${holdpoint}/graphql`, sdl: await answer.text() },
  { name: 'tickets', url: tickets.url, sdl: ticketsSdl },
])
const { url } = await startGateway({ supergraph, subscribesBy: 'events', port: 4002 })
console.log(`The gateway is at ${url}. Try: { agents { nodes { name owner } } }`)
