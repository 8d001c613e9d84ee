import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'

import { describe, expect, it } from 'vitest'

import { schema } from '../../src/graphql/schema.ts'
import { createHealthServer } from '../../src/server/health/health-server.ts'
import { createHttpServer } from '../../src/server/http.ts'
import { startServer } from './fixture.ts'

describe('POST /graphql', () => {
  it('[SRV7] answers a query with JSON in the type that was asked for', async () => {
    const { client } = await startServer()
    const preferred = await client.request('{ hello }')
    expect(preferred).toMatchObject({ status: 200, data: { hello: 'world' } })
    expect(preferred.headers.get('content-type')).toBe('application/graphql-response+json; charset=utf-8')
    const plain = await client.request('{ hello }', {}, { headers: { accept: 'application/json' } })
    expect(plain.headers.get('content-type')).toBe('application/json; charset=utf-8')
  })

  it('[SRV7] ignores unknown keys of the request', async () => {
    const { client } = await startServer()
    const body = JSON.stringify({ query: '{ hello }', onError: 'NULL', documentId: 'x' })
    expect(await client.request('', {}, { body })).toMatchObject({ status: 200, data: { hello: 'world' } })
  })

  it.each([
    { type: 'application/x-www-form-urlencoded', body: 'query=%7Bhello%7D' },
    { type: 'text/plain', body: '{"query":"{ hello }"}' },
    { type: 'application/graphql', body: '{ hello }' },
    {
      type: 'multipart/form-data; boundary=x',
      body: '--x\r\ncontent-disposition: form-data; name="operations"\r\n\r\n{}\r\n--x--',
    },
  ])('[SRV7] refuses a body of type $type with 415', async ({ type, body }) => {
    const { client, ground } = await startServer()
    const answer = await client.request('', {}, { body, headers: { 'content-type': type } })
    expect(answer).toMatchObject({ status: 415, errors: [{ extensions: { code: 'BAD_REQUEST' } }] })
    expect(answer.errors![0]!.message).toContain('application/json')
    expect(ground.contexts).toHaveLength(0)
  })

  it.each([
    { what: 'no JSON', body: '{"query":' },
    { what: 'a text', body: '"{ hello }"' },
    { what: 'a batch', body: '[{"query":"{ hello }"},{"query":"{ hello }"}]' },
    { what: 'no query', body: '{"variables":{}}' },
    { what: 'a query that is not text', body: '{"query":{}}' },
    { what: 'variables that are not an object', body: '{"query":"{ hello }","variables":[1]}' },
  ])('[SRV7] refuses $what with BAD_REQUEST', async ({ body }) => {
    const { client } = await startServer()
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      const answer = await client.request('', {}, { body, headers: { accept } })
      expect(answer.errors).toEqual([{ message: expect.any(String), extensions: { code: 'BAD_REQUEST' } }])
      expect(answer.status).toBe(400)
    }
  })

  it('[SRV7] answers a client that offers to speak HTTP/2', async () => {
    const { client } = await startServer()
    const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' }
    const answer = await send(client.url, 'POST', headers, '{"query":"{ hello }"}')
    expect(answer).toMatchObject({ status: 200, body: '{"data":{"hello":"world"}}' })
  })

  it('[SRV7] runs nothing whose answer cannot be sent', async () => {
    const { client, ground } = await startServer()
    const answer = await client.request('mutation { save(name: "a") }', {}, { headers: { accept: 'text/html' } })
    expect(answer).toMatchObject({ status: 406, errors: [{ extensions: { code: 'BAD_REQUEST' } }] })
    expect(ground.contexts).toHaveLength(0)
  })

  it('[SRV7] tells a client that accepts only JSON how to subscribe', async () => {
    const { client, ground } = await startServer()
    const answer = await client.request('subscription { ticks }')
    expect(answer).toMatchObject({ status: 406, errors: [{ extensions: { code: 'BAD_REQUEST' } }] })
    expect(answer.errors![0]!.message).toContain('text/event-stream')
    expect(ground.sourcesOpened).toBe(0)
  })

  it('[SRV7] has an error status if the whole request failed, not if a field did', async () => {
    const { client } = await startServer()
    const status = async (query: string): Promise<number> => (await client.request(query)).status
    expect(await status('{ hello')).toBe(400)
    expect(await status('{ helo }')).toBe(400)
    expect(await status(`{ ${'a: hello '.repeat(40)} }`)).toBe(400)
    expect(await status('{ fail(kind: "missing") }')).toBe(200)
    expect(await status('{ fail(kind: "bug") }')).toBe(200)
  })
})

describe('GET /graphql', () => {
  const get = (url: string, query: string, accept = 'application/json'): Promise<Response> =>
    fetch(`${url}?${new URLSearchParams({ query })}`, { headers: { accept } })

  it('[SRV8] answers queries', async () => {
    const { client } = await startServer()
    expect(await (await get(client.url, '{ hello }')).json()).toEqual({ data: { hello: 'world' } })
    expect(await (await get(client.url, '{ viewer }#/health')).json()).toEqual({ data: { viewer: 'open' } })
  })

  it.each(['application/json', 'text/event-stream'])('[SRV8] never runs a mutation (%s)', async (accept) => {
    const { client, ground } = await startServer()
    const response = await get(client.url, 'mutation { save(name: "a") }', accept)
    expect(response.status).toBe(405)
    expect(await response.text()).toContain('"BAD_REQUEST"')
    expect(ground.contexts).toHaveLength(0)
  })

  it.each(['variables', 'extensions'])('[SRV8] refuses %s that are not JSON', async (name) => {
    const { client } = await startServer()
    const address = `${client.url}?${new URLSearchParams({ query: '{ hello }', [name]: 'nonsense' })}`
    const response = await fetch(address, { headers: { accept: 'application/graphql-response+json' } })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] })
  })

  it('[SRV8] answers other methods with 405', async () => {
    const { client } = await startServer()
    for (const method of ['PUT', 'DELETE', 'OPTIONS']) {
      const response = await fetch(client.url, { method })
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('GET, POST')
    }
  })
})

describe('authentication', () => {
  it('[SRV9] takes the key from the Authorization header and builds one context per operation', async () => {
    const { client, ground } = await startServer()
    const answer = await client.request('{ viewer }', {}, { headers: { authorization: 'Bearer good' } })
    expect(answer.data).toEqual({ viewer: 'good' })
    expect((await client.request('{ viewer }')).data).toEqual({ viewer: 'open' })
    expect(ground.contexts).toEqual([{ viewer: { keyName: 'good' } }, { viewer: { keyName: 'open' } }])
  })

  it('[SRV9] refuses a bad key with 401 before the body is read', async () => {
    const { client } = await startServer()
    const answer = await client.request('{ no such', {}, { headers: { authorization: 'Bearer bad' } })
    expect(answer).toMatchObject({ status: 401, errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    const down = await client.request('{ hello }', {}, { headers: { authorization: 'Bearer database-down' } })
    expect(down).toMatchObject({ status: 503, errors: [{ extensions: { code: 'UNAVAILABLE' } }] })
  })

  it('[SRV10] refuses a client without a key that uses a host name which anyone could point here', async () => {
    const { client } = await startServer()
    const post = (headers: Record<string, string>): Promise<Answer> =>
      send(client.url, 'POST', headers, '{"query":"{ hello }"}')
    expect((await post({ host: 'evil.example' })).status).toBe(401)
    expect((await post({ host: 'localhost.evil.example:4000' })).status).toBe(401)
    expect((await post({ host: 'evil.example', authorization: 'Bearer good' })).status).toBe(200)
    for (const host of ['localhost:4000', '127.0.0.1', '[::1]:4000', 'LOCALHOST'])
      expect((await post({ host })).status).toBe(200)
  })
})

describe('pages of other sites', () => {
  const pages: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]

  it.each(pages)('[SRV28] may not use the API: %j', async (page) => {
    const { client, ground } = await startServer()
    const stream = `${client.url}?${new URLSearchParams({ query: 'subscription { ticks }' })}`
    for (const answer of [
      await send(client.url, 'POST', page, '{"query":"{ hello }"}'),
      await send(`${client.url}?query={hello}`, 'GET', page),
      await send(stream, 'GET', { ...page, accept: 'text/event-stream' }),
      await send(client.url, 'OPTIONS', { ...page, 'access-control-request-method': 'POST' }),
    ]) {
      expect(answer.status).toBe(403)
      const [error] = JSON.parse(answer.body).errors
      expect(error.extensions.code).toBe('FORBIDDEN')
      expect(error.message).toContain('HOLDPOINT_ALLOWED_ORIGINS')
      if (page['origin']) expect(error.message).toContain(page['origin'])
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
    expect(ground.contexts).toHaveLength(0)
    const refused = ground.logged.filter(({ msg }) => msg.startsWith('refused a request'))
    expect(refused.map(({ origin }) => origin)).toEqual(Array.from({ length: 4 }, () => page['origin']))
  })

  it("[SRV28] may be shown GraphiQL, and the server's own page may use the API", async () => {
    const { client, origin } = await startServer()
    const followed = { 'sec-fetch-site': 'cross-site', accept: 'text/html,*/*;q=0.8' }
    expect((await send(client.url, 'GET', followed)).status).toBe(200)
    for (const own of [{ origin }, { 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }, {}]) {
      expect((await send(client.url, 'POST', own, '{"query":"{ hello }"}')).status).toBe(200)
    }
    const behindProxy = { origin: 'https://app.example', 'sec-fetch-site': 'same-origin' }
    expect((await send(client.url, 'POST', behindProxy, '{"query":"{ hello }"}')).status).toBe(200)
  })

  it('[SRV29] may use the API if their origin is allowed, after a preflight request', async () => {
    const { client } = await startServer({ allowedOrigins: ['https://app.example'] })
    const page = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' }
    const preflight = await send(client.url, 'OPTIONS', {
      ...page,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': 'authorization,content-type',
      vary: 'origin',
    })
    const answer = await send(client.url, 'POST', page, '{"query":"{ hello }"}')
    expect(answer).toMatchObject({ status: 200, body: '{"data":{"hello":"world"}}' })
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': 'https://app.example', vary: 'origin' })
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
    const other = await send(client.url, 'POST', { origin: 'https://evil.example' }, '{"query":"{ hello }"}')
    expect(other.status).toBe(403)
  })
})

describe('the Host header', () => {
  it.each(['[x', '999.999.999.999', 'a b.localhost', 'evil.example#.localhost', 'a@b', '[::1', 'x:99999', '1.2.3'])(
    '[SRV30] that names no host gets 400: %j',
    async (host) => {
      const { origin, ground } = await startServer()
      for (const authorization of [undefined, 'Bearer good']) {
        for (const path of ['/graphql', '/healthz', '/']) {
          const answer = await send(origin + path, 'GET', { host, ...(authorization && { authorization }) })
          expect(answer.status).toBe(400)
          expect(answer.body).toContain('Host')
          expect(answer.body).not.toMatch(/\.[jt]s:/)
        }
      }
      expect(ground.logged.filter(({ level }) => level >= 40)).toEqual([])
    },
  )

  it('[SRV10] of an allowed origin needs no key', async () => {
    const { client } = await startServer({ allowedOrigins: ['https://app.example'] })
    expect((await send(client.url, 'POST', { host: 'app.example' }, '{"query":"{ hello }"}')).status).toBe(200)
  })
})

describe('other addresses', () => {
  it('[SRV11] says whether it is alive and whether it is ready', async () => {
    let ready = async (): Promise<boolean> => true
    const { origin } = await startServer({ ready: () => ready() })
    const health = await fetch(`${origin}/healthz`)
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }])
    expect((await fetch(`${origin}/readyz`)).status).toBe(200)
    ready = async () => false
    expect((await fetch(`${origin}/readyz`)).status).toBe(503)
    ready = async () => {
      throw new Error('no database')
    }
    const unready = await fetch(`${origin}/readyz`)
    expect([unready.status, await unready.json()]).toEqual([503, { status: 'unavailable' }])
  })

  it('[SRV11] makes one check however many ask at once whether it is ready', async () => {
    const gate = Promise.withResolvers<boolean>()
    let checks = 0
    const { origin } = await startServer({ ready: () => ((checks += 1), gate.promise) })
    const asked = Array.from({ length: 10 }, () => fetch(`${origin}/readyz`))
    await expect.poll(() => checks).toBe(1)
    await Promise.all(Array.from({ length: 5 }, () => fetch(`${origin}/healthz`)))
    gate.resolve(true)
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(asked.map(() => 200))
    expect(checks).toBe(1)
  })

  it('[SRV11] says within a second that it is not ready if the check takes longer', async () => {
    const gate = Promise.withResolvers<boolean>()
    const { origin } = await startServer({ ready: () => gate.promise })
    const began = performance.now()
    const late = await fetch(`${origin}/readyz`)
    expect(performance.now() - began).toBeLessThan(1_000)
    const reason = 'the database has not answered within 800 ms'
    expect([late.status, await late.json()]).toEqual([503, { status: 'unavailable', reason }])
    gate.resolve(true)
    await expect.poll(async () => (await fetch(`${origin}/readyz`)).status).toBe(200)
  })

  it('[SRV11] shows a page at /, and 404 in JSON anywhere else', async () => {
    const { origin } = await startServer()
    const home = await fetch(origin)
    expect(home.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const html = await home.text()
    expect(html).toContain('href="/graphql"')
    expect(html).not.toMatch(/(src|href)="(https?:)?\/\//)
    for (const path of ['/nope', '/graphql/', '/health', '/healthz/x']) {
      const missing = await fetch(origin + path)
      expect([missing.status, await missing.json()]).toMatchObject([404, { errors: [{ message: expect.any(String) }] }])
    }
    expect((await fetch(`${origin}/healthz`, { method: 'POST' })).status).toBe(405)
  })

  it('[SRV36] serves the schema and the possible types, as the repository has them', async () => {
    const { origin } = await startServer({ schema })
    for (const [file, type] of [
      ['schema.graphql', 'application/graphql'],
      ['possible-types.json', 'application/json'],
    ] as const) {
      const answer = await fetch(`${origin}/${file}`)
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, `${type}; charset=utf-8`])
      expect(await answer.text()).toBe(await readFile(new URL(`../../${file}`, import.meta.url), 'utf8'))
      expect((await fetch(`${origin}/${file}`, { method: 'POST' })).status).toBe(405)
    }
  })

  it('[SRV37] answers a persisted query so that clients send the query itself', async () => {
    const { origin } = await startServer()
    const persistedQuery = { version: 1, sha256Hash: 'a'.repeat(64) }
    const extensions = JSON.stringify({ persistedQuery })
    const answers = [
      await fetch(`${origin}/graphql?extensions=${encodeURIComponent(extensions)}`, {
        headers: { accept: 'application/json' },
      }),
      await fetch(`${origin}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({ operationName: 'A', extensions: { persistedQuery } }),
      }),
    ]
    const error = { message: 'PersistedQueryNotSupported', extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } }
    for (const answer of answers) expect([answer.status, await answer.json()]).toEqual([200, { errors: [error] }])
    const whole = await fetch(`${origin}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query: '{ __typename }', extensions: { persistedQuery } }),
    })
    expect(await whole.json()).toEqual({ data: { __typename: 'Query' } })
  })

  it('[SRV11] answers HEAD like GET, without a body', async () => {
    const { origin } = await startServer()
    for (const path of ['/', '/healthz', '/readyz']) {
      const answer = await send(origin + path, 'HEAD')
      expect(answer).toMatchObject({ status: 200, body: '' })
    }
    expect(await send(`${origin}/graphql`, 'HEAD', { accept: 'text/html' })).toMatchObject({ status: 200, body: '' })
  })

  it('[SRV12] sets its security headers on every answer', async () => {
    const { origin } = await startServer()
    for (const path of ['/', '/healthz', '/nope', '/graphql?query={hello}', '/graphql']) {
      const { headers } = await send(origin + path, 'GET', path === '/graphql' ? { accept: 'text/html' } : {})
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
      expect(headers['content-security-policy']).toContain("default-src 'none'")
    }
  })
})

describe('opening and closing', () => {
  it('[SRV13] rejects with the error of the system if the port is taken', async () => {
    const { origin } = await startServer()
    const second = createHttpServer({ ...unused, log: { level: 'silent' } as never })
    await expect(second.listen('127.0.0.1', Number(new URL(origin).port))).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await second.close()
  })

  it.each([
    { kind: 'of the API', create: () => createHttpServer({ ...unused, log: { level: 'silent' } as never }) },
    { kind: 'of the health port', create: () => createHealthServer(unused as never) },
  ])('[OPS70] a server $kind that is closed before it listens does not listen', async ({ create }) => {
    const server = create()
    const listening = server.listen('127.0.0.1', 0)
    await server.close()
    const { port } = await listening
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow()
  })

  it.each(['', 'GET /graphql HTTP/1.1\r\nHo', '\r\n'])(
    '[SRV35] closes a connection that sends no whole request head: %j',
    async (start) => {
      const { origin } = await startServer({ limits: { requestHeadMs: 200 } })
      const socket = connect(Number(new URL(origin).port), '127.0.0.1')
      socket.write(start)
      socket.resume()
      await once(socket, 'close')
    },
  )

  it('[SRV35] keeps a connection whose request takes longer than a client may read nothing', async () => {
    const { client, ground } = await startServer({ limits: { stalledSocketMs: 50 } })
    const answer = client.request('{ wait(gate: "slow") }')
    await expect.poll(() => ground.gates.has('slow')).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 300))
    ground.gates.get('slow')!.resolve('done')
    expect((await answer).data).toEqual({ wait: 'done' })
  })

  it('[SRV80] keeps an idle connection longer than a load balancer does', async () => {
    const { client } = await startServer()
    const { headers } = await client.request('{ hello }')
    expect(headers.get('keep-alive')).toBe('timeout=65')
  })

  it('[SRV13] waits for an open request, accepts no new one, and may be closed twice', async () => {
    const { server, client, ground } = await startServer()
    const answer = client.request('{ wait(gate: "a") }')
    await expect.poll(() => ground.gates.has('a')).toBe(true)
    const closed = Promise.all([server.close(), server.close()])
    ground.gates.get('a')!.resolve('done')
    expect((await answer).data).toEqual({ wait: 'done' })
    await closed
    await expect(client.request('{ hello }')).rejects.toThrow('fetch failed')
  })

  it('[SRV13] cuts off a request that does not end', async () => {
    const { server, client, ground } = await startServer()
    const answer = client.request('{ wait(gate: "never") }')
    const failed = expect(answer).rejects.toThrow()
    await expect.poll(() => ground.gates.has('never')).toBe(true)
    await server.close()
    await failed
  })
})

const unused = {
  schema: undefined as never,
  authenticate: async () => ({}),
  createContext: () => ({}),
  openFile: async () => undefined,
  graphiql: false,
  ready: async () => true,
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** `fetch` sets some headers by itself. */
async function send(url: string, method: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  const request = httpRequest(url, {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
  })
  request.end(body)
  const [response] = await once(request, 'response')
  return { status: response.statusCode, headers: response.headers, body: (await response.toArray()).join('') }
}
