import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { createServer, type ViteDevServer } from 'vite'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { startAdapterGround, type AdapterGround } from '../adapters/ground.ts'
import { openGround, type Ground } from '../console/ground.ts'

const folder = fileURLToPath(new URL('../../examples/front-ends', import.meta.url))
const browser = await openGround()
// The libraries are not among the project's own: they are installed once, from the registry.
const isInstalled = await access(`${folder}/node_modules`)
  .catch(() => promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder }))
  .then(
    () => true,
    () => false,
  )

describe.skipIf(!browser || !isInstalled)('pages of other libraries', () => {
  const { open, assertClean } = browser as Ground
  let ground: AdapterGround
  let vite: ViteDevServer

  beforeAll(async () => {
    ground = await startAdapterGround()
    process.env['HOLDPOINT_URL'] = new URL(ground.server.url).origin
    vite = await createServer({
      root: folder,
      server: { port: 0, host: '127.0.0.1', hmr: false, watch: null },
      logLevel: 'error',
    })
    await vite.listen()
  }, 300_000)
  afterEach(() => assertClean())
  afterAll(async () => {
    delete process.env['HOLDPOINT_URL']
    await vite.close()
    await browser?.close()
    await ground.stop()
  })

  /** The conversation that the page has made. */
  async function conversationOf(agentId: string): Promise<string> {
    const { agent } = await ground.server.data(
      'query ($id: ID!) { agent(id: $id) { conversations { nodes { id metadata } } } }',
      { id: agentId },
    )
    return agent.conversations.nodes.find(({ metadata }: any) => metadata.chatId).id
  }

  test('[EXA66] assistant-ui: send, tool, approval by page and by others, stop, reload, regenerate, edit', async () => {
    const { id: agentId } = await ground.startAgent()
    const tab = await open(`${vite.resolvedUrls!.local[0]!}assistant-ui.html#${agentId}`)
    const say = async (text: string) => {
      await tab.getByLabel('Message', { exact: true }).fill(text)
      await tab.getByRole('button', { name: 'Send' }).click()
    }
    const answers = tab.locator('[data-role=assistant]')
    await say('say One.')
    await answers.getByText('One.', { exact: true }).waitFor()
    await say('call inspect {}')
    await answers.getByText('"colour":"red"').first().waitFor()
    await say('call pay {"amount": 5}')
    await tab.getByRole('button', { name: 'Approve' }).click()
    await answers.getByText('pay returned: paid 5').waitFor()

    const conversationId = await conversationOf(agentId)
    await say('call pay {"amount": 6}')
    await tab.getByRole('button', { name: 'Approve' }).waitFor()
    await ground.decideElsewhere(conversationId, 'deny')
    await answers.getByText('denied').waitFor()
    expect(await tab.getByRole('button', { name: 'Approve' }).count()).toBe(0)

    await say(`slow 100\nsay Endless ${'word '.repeat(200)}`)
    await answers.getByText('Endless word').waitFor()
    await tab.getByRole('button', { name: 'Stop' }).click()
    await say('call pay {"amount": 7}')
    await tab.getByRole('button', { name: 'Approve' }).waitFor()
    await tab.reload()
    await answers.getByText('pay returned: paid 5').waitFor()
    await tab.getByRole('button', { name: 'Approve' }).click()
    await answers.getByText('pay returned: paid 7').waitFor()

    const { runs } = await ground.branchOf(conversationId)
    await answers.last().getByRole('button', { name: 'Again' }).click()
    await expect.poll(async () => (await ground.branchOf(conversationId)).runs).toBe(runs + 1)
    await tab.getByRole('button', { name: 'Approve' }).click()
    await answers.last().getByText('pay returned: paid 7').waitFor()

    await tab.locator('[data-role=user]').first().getByRole('button', { name: 'Edit' }).click()
    await tab.getByLabel('Edited message').fill('say Two.')
    await tab.getByRole('button', { name: 'Save' }).click()
    await answers.getByText('Two.', { exact: true }).waitFor()
    await expect.poll(async () => (await ground.branchOf(conversationId)).texts).toEqual(['say Two.', 'Two.'])
    await say('say Three.')
    await answers.getByText('Three.', { exact: true }).waitFor()
    expect((await ground.branchOf(conversationId)).texts).toEqual(['say Two.', 'Two.', 'say Three.', 'Three.'])
  })

  test('[EXA67] CopilotKit: send, tool, approval by page and by others, stop, reload, regenerate, edit', async () => {
    const { id: agentId } = await ground.startAgent()
    const tab = await open(`${vite.resolvedUrls!.local[0]!}copilotkit.html#${agentId}`)
    const say = async (text: string) => {
      await tab.getByLabel('Message').fill(text)
      await tab.getByRole('button', { name: 'Send' }).click()
    }
    const shown = async () =>
      (await tab.locator('[data-role=user],[data-role=assistant]').allTextContents()).map((text) =>
        text.replace(/Again Edit$/, '').trim(),
      )
    await say('say One.')
    await tab.getByText('One.', { exact: true }).waitFor()
    await say('call inspect {}')
    await tab.getByText('"colour":"red"').first().waitFor()
    await say('call pay {"amount": 5}')
    await tab.getByRole('button', { name: 'Approve' }).click()
    await tab.getByText('pay returned: paid 5').waitFor()

    const conversationId = await conversationOf(agentId)
    await say('call pay {"amount": 6}')
    await tab.getByRole('button', { name: 'Approve' }).waitFor()
    await ground.decideElsewhere(conversationId, 'deny')
    await tab.getByRole('button', { name: 'Approve' }).click()
    await tab.getByText(/pay returned:.*No\./).waitFor()
    await expect.poll(() => tab.getByRole('button', { name: 'Approve' }).count()).toBe(0)

    await say(`slow 100\nsay Endless ${'word '.repeat(200)}`)
    await tab.locator('[data-role=assistant]', { hasText: 'Endless word' }).waitFor()
    await tab.getByRole('button', { name: 'Stop' }).click()
    await say('call pay {"amount": 7}')
    await tab.getByRole('button', { name: 'Approve' }).waitFor()
    await tab.reload()
    await tab.getByText('pay returned: paid 5').waitFor()
    await tab.getByRole('button', { name: 'Approve' }).click()
    await tab.getByText('pay returned: paid 7').waitFor()

    const { runs } = await ground.branchOf(conversationId)
    await say('say Last.')
    await tab.getByText('Last.', { exact: true }).waitFor()
    await tab.getByRole('button', { name: 'Again' }).last().click()
    await expect.poll(async () => (await ground.branchOf(conversationId)).runs).toBe(runs + 2)
    await expect.poll(async () => (await shown()).at(-1)).toBe('Last.')

    tab.once('dialog', (dialog) => void dialog.accept('say Edited.'))
    await tab.getByRole('button', { name: 'Edit' }).last().click()
    await tab.getByText('Edited.', { exact: true }).waitFor()
    expect((await ground.branchOf(conversationId)).texts.slice(-2)).toEqual(['say Edited.', 'Edited.'])
    expect((await shown()).slice(-2)).toEqual(['say Edited.', 'Edited.'])
  })
})
