import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

import { buildSchema, Kind, parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'

import { tour } from '../../src/server/graphiql/graphiql-tour.ts'
import { startServer } from './fixture.ts'

/** Asks for the page without compression, and reads no more than the first bytes of it. */
async function requestPage(url: string): Promise<Socket> {
  const { port, host } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`GET /graphql HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  return socket
}

const schemaFile = new URL('../../schema.graphql', import.meta.url)

describe('GraphiQL', () => {
  it('[SRV21] is shown to browsers, compressed and cached', async () => {
    const { client } = await startServer()
    const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    const page = await fetch(client.url, { headers })
    expect(page.status).toBe(200)
    expect(page.headers.get('content-encoding')).toBe('gzip')
    const html = await page.text()
    expect(html).toContain('<title>Holdpoint</title>')
    expect(html).toContain('"shouldPersistHeaders":false')
    expect(html).not.toMatch(/<(script|link|img)[^>]+(src|href)="https?:/)
    const again = await fetch(client.url, { headers: { ...headers, 'if-none-match': page.headers.get('etag')! } })
    expect(again.status).toBe(304)
    const unpacked = await fetch(client.url, { headers: { ...headers, 'accept-encoding': 'identity' } })
    expect(unpacked.headers.get('content-encoding')).toBeNull()
    expect((await unpacked.text()).length).toBe(html.length)
  })

  it('[SRV32] is sent from one buffer to clients that do not read it', async () => {
    const { client } = await startServer()
    await (await fetch(client.url, { headers: { accept: 'text/html', 'accept-encoding': 'identity' } })).arrayBuffer()
    const before = process.memoryUsage().arrayBuffers
    const sockets = await Promise.all(Array.from({ length: 50 }, () => requestPage(client.url)))
    const page = 9_000_000
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * page)
    for (const socket of sockets) socket.destroy()
  })

  it('[SRV32] is cut off if the client reads nothing for too long', async () => {
    const { client, ground } = await startServer({ limits: { stalledSocketMs: 300 } })
    const socket = await requestPage(client.url)
    const closed = 'closed a connection whose client did not read its response'
    await expect.poll(() => ground.logged.map(({ msg }) => msg), { timeout: 20_000 }).toContain(closed)
    socket.destroy()
  })

  it('[SRV21] is not shown if it is turned off', async () => {
    const { client } = await startServer({ graphiql: false })
    const answer = await fetch(client.url, { headers: { accept: 'text/html,*/*;q=0.8' } })
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toContain('json')
    expect(await answer.text()).toContain('GraphiQL is turned off on this server.')
    const asked = await fetch(`${client.url}?query={__typename}`, { headers: { accept: 'text/html,*/*;q=0.8' } })
    expect(await asked.json()).toEqual({ data: { __typename: 'Query' } })
  })

  it.each(tour)('[SRV22] has a tour whose operations are valid: %#', ({ query, variables }) => {
    const document = parse(query)
    expect(validate(buildSchema(readFileSync(schemaFile, 'utf8')), document)).toEqual([])
    const definition = document.definitions[0]!
    expect(definition).toHaveProperty('name.value')
    const names =
      definition.kind === Kind.OPERATION_DEFINITION
        ? definition.variableDefinitions!.map(({ variable }) => variable.name.value)
        : []
    for (const name of Object.keys(JSON.parse(variables ?? '{}'))) expect(names).toContain(name)
  })
})
