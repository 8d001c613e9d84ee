import { gunzipSync, brotliDecompressSync } from 'node:zlib'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, request, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { beforeAll, expect, test } from 'vitest'

import { createConsole } from '../../src/server/pages/console.ts'
import { startTestApp } from '../support/app.ts'
import { ensureConsole } from '../support/built-console.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

beforeAll(ensureConsole)

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** `fetch` decompresses the body. This shows it as it was sent. */
function get(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request(url, { headers, method }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(parts) }),
      )
    })
      .on('error', reject)
      .end()
  })
}

test('[CON1] the console is at / and at all its addresses, compressed, cached, and under a policy without inline scripts', async () => {
  const server = await startTestApp()
  const { origin } = new URL(server.url)
  const page = await get(`${origin}/`)
  for (const path of [
    '/agents',
    '/agents/new',
    '/agents/agent_1/edit',
    '/conversations/x',
    '/inbox',
    '/runs',
    '/runs/x',
    '/schedules',
    '/usage',
    '/budgets',
    '/tools',
    '/memory',
    '/settings',
  ]) {
    expect((await get(origin + path)).body.equals(page.body), path).toBe(true)
  }
  expect(page.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' })
  const policy = page.headers['content-security-policy']!
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toContain('unsafe')
  expect(page.body.toString()).not.toMatch(/<script>|<script [^>]*>[^<]/)

  const script = /src="(\/assets\/[^"]+\.js)"/.exec(page.body.toString())![1]!
  const plain = await get(origin + script)
  expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  const br = await get(origin + script, { 'accept-encoding': 'gzip, br' })
  expect(br.headers).toMatchObject({ 'content-encoding': 'br', vary: 'accept-encoding' })
  expect(brotliDecompressSync(br.body).equals(plain.body)).toBe(true)
  // React's build for development would be half as large again, and slow.
  expect(plain.body.includes('jsxDEV')).toBe(false)
  const gzip = await get(origin + script, { 'accept-encoding': 'gzip' })
  expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true)
  expect(await get(origin + script, { 'if-none-match': plain.headers.etag! })).toMatchObject({ status: 304 })
  expect((await get(origin + script, {}, 'HEAD')).body).toHaveLength(0)
  for (const path of ['/assets/nope.js', '/agentsx', '/assets/../../package.json']) {
    expect((await get(origin + path)).status, path).toBe(404)
  }
  await server.stop()
})

test('[CON160] the font is served here, allowed by the policy, cached and small', async () => {
  const server = await startTestApp()
  const { origin } = new URL(server.url)
  const page = await get(`${origin}/`)
  const path = /href="(\/assets\/[^"]+\.woff2)"/.exec(page.body.toString())![1]!
  const font = await get(origin + path)
  expect(font).toMatchObject({ status: 200, headers: { 'content-type': 'font/woff2' } })
  expect(font.headers['cache-control']).toContain('immutable')
  expect(font.body.length).toBeLessThan(32 * 1024)
  expect(page.headers['content-security-policy']).toContain("font-src 'self'")
  const styles = /href="(\/assets\/[^"]+\.css)"/.exec(page.body.toString())![1]!
  expect((await get(origin + styles)).body.toString()).toContain(path)
  await server.stop()
})

test('[CON97] a browser that opens an unknown address gets the console with status 404, and a program gets JSON', async () => {
  const server = await startTestApp()
  const { origin } = new URL(server.url)
  const page = await get(`${origin}/agents`)
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  for (const path of ['/agentsx', '/favicon', '/docs/nope']) {
    const shown = await get(origin + path, { ...browser, 'if-none-match': page.headers.etag! })
    expect(shown, path).toMatchObject({ status: 404, body: page.body })
    const told = await get(origin + path, { accept: '*/*' })
    expect(told.status).toBe(404)
    expect(JSON.parse(told.body.toString()).errors[0].message).toContain('There is nothing here')
  }
  await server.stop()
})

test('[DCS2] the documentation is at /docs, with every page, a reference and a search, all from this server', async () => {
  const server = await startTestApp()
  const { origin } = new URL(server.url)
  const index = (await get(`${origin}/docs`)).body.toString()
  const linked = [...index.matchAll(/href="(\/docs\/[a-z-]+)"/g)].map(([, path]) => path!)
  expect(linked).toEqual(expect.arrayContaining(['/docs/quick-start', '/docs/tools', '/docs/api']))
  const anchors = new Map<string, string>()
  for (const path of ['/docs', ...linked]) {
    const page = await get(origin + path)
    expect(page.status, path).toBe(200)
    expect(page.headers['content-security-policy']).not.toContain('unsafe')
    anchors.set(path, page.body.toString())
  }
  // Every link inside the documentation has a target, and every image exists.
  for (const [path, html] of anchors) {
    expect(html).not.toMatch(/<(?:script|img|link)[^>]+(?:src|href)="https?:/)
    for (const [, target, , anchor] of html.matchAll(/href="(\/docs[a-z/-]*)(#([^"]+))?"/g)) {
      expect(anchors.get(target!), `${path} links to ${target}`).toBeDefined()
      if (anchor) expect(anchors.get(target!), `${path} links to ${target}#${anchor}`).toContain(`id="${anchor}"`)
    }
    for (const [, image] of html.matchAll(/<img src="([^"]+)"/g)) {
      expect((await get(origin + image!)).headers['content-type']).toMatch(/^image\//)
    }
  }
  const sections = JSON.parse((await get(`${origin}/docs/search.json`)).body.toString())
  const settings = anchors.get('/docs/configuration')!.match(/(?<=<tr id=")[^"]+/g)!
  expect(settings).toEqual(expect.arrayContaining(['PORT', 'HOLDPOINT_DATA_DIR']))
  expect(sections).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ path: '/docs/approvals#deciding', heading: 'Deciding' }),
      ...settings.map((name) => expect.objectContaining({ path: `/docs/configuration#${name}`, heading: name })),
    ]),
  )
  // In the reference, the name of a type leads to the type, also if an operation has the same name.
  const api = anchors.get('/docs/api')!
  for (const [, anchor] of api.matchAll(/href="#([^"]+)"/g)) expect(api).toContain(`id="${anchor}"`)
  expect(api).toContain('<a href="#agent-1">Agent</a>')
  expect((await get(`${origin}/docs/nope`)).status).toBe(404)
  await server.stop()
})

test('[CON2] everything that the first page loads is below 250 KB compressed', async () => {
  const server = await startTestApp()
  const { origin } = new URL(server.url)
  const html = (await get(`${origin}/`)).body.toString()
  const scripts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map(([, path]) => path!)
  const sizes = await Promise.all(
    scripts.map(async (path) => (await get(origin + path, { 'accept-encoding': 'br' })).body.length),
  )
  expect(scripts.length).toBeGreaterThan(0)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(250_000)
  await server.stop()
})

test('[CON3] it can be turned off, and a server without a built console shows the plain page', async () => {
  const server = await startTestApp({ env: { HOLDPOINT_CONSOLE: '0' } })
  const { origin } = new URL(server.url)
  expect((await get(`${origin}/`)).body.toString()).toContain('href="/graphql"')
  expect((await get(`${origin}/agents`)).status).toBe(404)
  await server.stop()
})

test('[CON3] a folder without a console, or with files that are not compressed, is served as far as possible', async () => {
  const folder = await makeTemporaryFolder()
  await mkdir(join(folder, 'bare/assets'), { recursive: true })
  await writeFile(join(folder, 'bare/index.html'), '<p>hello')
  for (const [name, status] of [
    ['nothing', 404],
    ['bare', 200],
  ] as const) {
    const webConsole = createConsole(join(folder, name))
    const server = createServer((incoming, response) => {
      void webConsole.send(incoming.url!, incoming, response).then((sent) => sent || response.writeHead(404).end())
    }).listen(0)
    const { port } = server.address() as AddressInfo
    expect((await get(`http://127.0.0.1:${port}/agents`, { 'accept-encoding': 'br' })).status).toBe(status)
    server.close()
  }
})
