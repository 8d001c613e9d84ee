import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createServer, type ViteDevServer } from 'vite'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { openGround, type Ground } from '../console/ground.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { talkTo } from '../support/talk.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const root = new URL('../../', import.meta.url)
const ground = await openGround()

/** Vite as `npx vite` in the example's folder would start it, or with another configuration file. */
async function startVite(example: string, configFile?: string): Promise<ViteDevServer & { readonly url: string }> {
  const vite = await createServer({
    root: fileURLToPath(new URL(`examples/${example}`, root)),
    ...(configFile !== undefined && { configFile }),
    server: { port: 0, host: '127.0.0.1', hmr: false, watch: null },
    cacheDir: fileURLToPath(new URL(`node_modules/.vite-examples/${example}`, root)),
    logLevel: 'error',
  })
  await vite.listen()
  return Object.assign(vite, { url: vite.resolvedUrls!.local[0]! })
}

test.each(['chat.tsx', 'main.tsx'])('[EXA62] docs/react.md shows %s as it is', async (name) => {
  const source = await readFile(new URL(`examples/react/${name}`, root), 'utf8')
  const shown = source.replaceAll(/'[^']+' \/\/ In your app: ('[^']+')/g, '$1')
  expect(await readFile(new URL('docs/react.md', root), 'utf8')).toContain(`\`\`\`tsx\n${shown}\`\`\``)
})

// Where there is neither the packaged Chromium nor an installed Chrome, the reason was printed above.
describe.skipIf(!ground)('the examples in a browser', () => {
  const { open, assertClean } = ground as Ground
  let server: TestApp

  beforeAll(async () => {
    server = await startTestApp()
  })
  afterEach(() => assertClean())
  afterAll(async () => {
    await ground?.close()
    await server.stop()
  })

  test('[EXA62] a React page chats through the proxy that the docs show; [EXA65] what did not reach the server is told', async () => {
    const page = await readFile(new URL('docs/browser.md', root), 'utf8')
    const config = /```js\n(\/\/ vite\.config\.js\n[^`]*)```/.exec(page)![1]!
    const folder = await makeTemporaryFolder()
    const file = join(folder, 'vite.config.mjs')
    await writeFile(file, config.replace('http://127.0.0.1:4000', new URL(server.url).origin))
    const vite = await startVite('react', file)
    try {
      const talk = talkTo(server)
      const source = 'export default ({ amount }) => `sent ${amount}`'
      await server.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
        input: { name: 'send_invoice', requiresApproval: true, implementation: { javascript: { source } } },
      })
      const agent = await talk.createAgent({ model: 'demo/scripted', tools: ['send_invoice'] })
      const data = await server.data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', { id: agent })
      const tab = await open(`${vite.url}#${data.agent.mainConversation.id}`)
      const chat = tab.getByRole('region', { name: 'Chat' })
      const say = async (text: string) => {
        await chat.getByLabel('Message').fill(text)
        await chat.getByRole('button', { name: 'Send' }).click()
      }
      await say('call send_invoice {"amount":120}')
      await chat.getByText('May I call send_invoice with {"amount":120}?').waitFor()
      // A second message waits its turn, and is answered after the first.
      await say('say Second.')
      await chat.getByText('say Second.').waitFor()
      await chat.getByRole('button', { name: 'Approve' }).click()
      await chat.getByText('send_invoice returned: sent 120').waitFor()
      await chat.getByText('Second.', { exact: true }).waitFor()
      await say('slow 300\nsay This is written word by word and will not be finished')
      await chat.getByText(/^This is/).waitFor()
      await chat.getByRole('button', { name: 'Stop' }).click()
      await expect.poll(() => chat.getByRole('button', { name: 'Stop' }).count()).toBe(0)

      await say('call send_invoice {"amount":7}')
      await chat.getByRole('button', { name: 'Approve' }).waitFor()
      const unreachable = '**/graphql'
      await tab.route(unreachable, (route) => route.abort('connectionrefused'))
      await say('Is there anybody?')
      await chat.getByText('You Is there anybody? Failed to fetch').waitFor()
      await chat.getByRole('button', { name: 'Approve' }).click()
      await chat.getByText('Failed to fetch', { exact: true }).last().waitFor()
      await tab.unroute(unreachable)
      await chat.getByRole('button', { name: 'Approve' }).click()
      await chat.getByText('send_invoice returned: sent 7').waitFor()
    } finally {
      await vite.close()
    }
  })

  test('[EXA65] a React page without a conversation, or with a wrong one, says so', async () => {
    process.env['HOLDPOINT_URL'] = new URL(server.url).origin
    const vite = await startVite('react').finally(() => delete process.env['HOLDPOINT_URL'])
    try {
      const tab = await open(vite.url)
      await tab.getByText('Put the id of a conversation at the end of the address').waitFor()
      await tab.goto(`${vite.url}#conv_1`)
      await tab.getByText('There is no conversation conv_1.').waitFor()
      expect(await tab.getByRole('button').count()).toBe(0)
    } finally {
      await vite.close()
    }
  })

  test("[EXA63] a customer's refund waits at the support desk", async () => {
    const database = await createTestDatabase()
    const file = fileURLToPath(new URL('examples/support-desk/server.ts', root))
    const env = { ...process.env, DATABASE_URL: database.url, PORT: '0', LOG_LEVEL: 'error' }
    const desk = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    let vite: Awaited<ReturnType<typeof startVite>> | undefined
    try {
      const [ready] = await once(desk.stdout.setEncoding('utf8'), 'data')
      process.env['HOLDPOINT_URL'] = new URL(/http\S+/.exec(String(ready))![0]).origin
      vite = await startVite('support-desk')
      const page = await open(vite.url)
      await page.getByRole('button', { name: 'Ask a question' }).click()
      const say = async (text: string) => {
        await page.getByLabel('Message').fill(text)
        await page.getByRole('button', { name: 'Send' }).click()
      }
      await say('call find_order {"orderId":"A-17"}')
      await page.getByText('a kettle').first().waitFor()
      await say('call refund_order {"orderId":"A-17","amount":250}')
      const waiting = page.getByRole('region', { name: 'Desk' })
      await waiting.getByRole('heading', { name: '1 waiting' }).waitFor()
      await page.reload()
      await waiting.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('refund_order returned: Refunded 250 for A-17').waitFor()
      await waiting.getByRole('heading', { name: 'Nothing waits' }).waitFor()
    } finally {
      delete process.env['HOLDPOINT_URL']
      await vite?.close()
      desk.kill()
      await once(desk, 'exit')
      await database.close()
    }
  })
})
