import { afterAll, expect, it } from 'vitest'

import { startTestApp } from '../support/app.ts'
import { transportNames, transports } from './transports.ts'

const app = await startTestApp({
  env: { HOLDPOINT_INTROSPECTION: '0', HOLDPOINT_GRAPHIQL: '0', HOLDPOINT_CONSOLE: '0' },
})
afterAll(() => app.stop())

it.each(transportNames)('[SRV38] the schema is hidden over %s', async (transport) => {
  const ask = transports[transport]
  for (const query of ['{ __schema { queryType { name } } }', '{ __type(name: "Agent") { name } }']) {
    const { errors } = await ask(app, { query })
    expect(errors![0]!.extensions.code).toBe('GRAPHQL_VALIDATION_FAILED')
  }
  const wrong = [
    { query: '{ agentz { totalCount } }' },
    {
      query: 'query ($s: [RunStatus!]) { runs(filter: { statuses: $s }) { totalCount } }',
      variables: { s: ['RUNNINGG'] },
    },
  ]
  for (const operation of wrong) expect((await ask(app, operation)).errors![0]!.message).not.toContain('Did you mean')
  const { data } = await ask(app, { query: '{ __typename viewer { __typename } }' })
  expect(data).toEqual({ __typename: 'Query', viewer: { __typename: 'Viewer' } })
})

it('[SRV38] the schema files, GraphiQL and the console are gone', async () => {
  const { origin } = new URL(app.url)
  for (const path of ['/schema.graphql', '/possible-types.json', '/agents']) {
    expect((await fetch(origin + path)).status).toBe(404)
  }
  const page = await fetch(app.url, { headers: { accept: 'text/html' } })
  expect(page.headers.get('content-type')).not.toContain('html')
})
