import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { openGround, type Ground } from '../console/ground.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { tour } from '../../src/server/graphiql/graphiql-tour.ts'

const ground = await openGround()
const key = 'hp_a_key_for_the_tour_0123456789'
const names = tour.map(({ query }) => /^(?:query|mutation|subscription) (\w+)/m.exec(query)![1]!)

// If there is neither the packaged Chromium nor an installed Chrome, the reason was printed above.
describe.skipIf(!ground)("GraphiQL's tour in a browser", () => {
  const { open, assertClean } = ground as Ground
  let server: TestApp
  // The page is 9 MB, so it is opened once, and the tests use it one after another.
  let page: Page

  beforeAll(async () => {
    server = await startTestApp({ env: { HOLDPOINT_API_KEY: key } })
    page = await open(server.url)
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Use this key' }).click()
    await page.getByRole('button', { name: 'Forget the key' }).waitFor()
  })
  afterEach(() => assertClean())
  afterAll(async () => {
    await ground?.close()
    await server.stop()
  })

  const shownTabs = () => page.locator('.graphiql-tab-button').allTextContents()

  async function show(name: string): Promise<void> {
    await page.getByRole('tab', { name }).click()
    await page.locator('.graphiql-query-editor').getByText(name, { exact: true }).waitFor()
  }

  const executeButton = () => page.getByRole('button', { name: 'Execute' })

  async function execute(name: string): Promise<void> {
    await show(name)
    await executeButton().click()
  }

  /** What the tab shows as its answer. */
  async function answer(): Promise<string> {
    const text = (await page.locator('.result-window .view-lines').textContent())!.replaceAll(/\s+/g, ' ')
    // GraphiQL notices only after a moment which operation a tab has. A program is quicker than that.
    if (text.includes('Cannot infer operation')) await executeButton().click()
    return text
  }

  /** Runs a tab of the tour for the first time, and waits until its answer shows this text. */
  async function run(name: string, expected: string): Promise<void> {
    await execute(name)
    await expect.poll(answer, { timeout: 30_000 }).toContain(expected)
  }

  test('[SRV60] its tabs run one after another, and no id is copied', async () => {
    await run('Welcome', 'demo/scripted')
    await run('CreateAgent', 'agent_')
    await run('SendMessage', 'SendMessageSuccess')
    // The run is still going on: its text arrives while it is watched, and GraphiQL can stop watching.
    await run('WatchRun', 'TextDelta')
    await page.getByRole('button', { name: 'Stop' }).click()
    await run('CreateTool', 'tool_')
    await run('AskForApproval', 'AWAITING_APPROVAL')
    await run('Inbox', 'send_invoice')
    await run('Approve', 'Sent Ada an invoice')
    // Until the second answer is there, the tab shows its first one. Then the ids in the bar change.
    const ids = page.getByRole('status', { name: 'Ids of the tour' })
    const before = await ids.textContent()
    await execute('SendMessage')
    const idsAfterAnswer = async () => (await answer(), ids.textContent())
    await expect.poll(idsAfterAnswer, { timeout: 30_000 }).not.toBe(before)
    await run('Cancel', 'CancelRunSuccess')
    await run('ListRuns', 'CANCELLED')
    await ids.getByText('AGENT_ID = agent_').waitFor()
    await show('WatchRun')
    await page.locator('.graphiql-editor-tool').getByText('RUN_ID').dblclick()
    await page.keyboard.type('run_x')
    await page.locator('.graphiql-editor-tool').getByText('"run_x"', { exact: true }).waitFor()
  })

  // The page takes a second of CPU time to load, so both rules look at the same loads.
  test("[SRV61] [SRV62] the key is the console's, and a link brings the tour back, before the tabs that someone else left", async () => {
    await expect.poll(shownTabs, { timeout: 30_000 }).toEqual(names)
    // GraphiQL stores its tabs a moment after a change, so its page is left first.
    await page.goto(new URL('/agents', server.url).href)
    await page.getByRole('heading', { name: 'Agents' }).waitFor()
    await page.evaluate(() => {
      const tab = { id: 'x', title: 'Theirs', query: 'query Theirs { viewer { scopes } }', variables: null }
      const tabs = [{ ...tab, headers: null, operationName: 'Theirs', response: null }]
      localStorage.setItem('graphiql:tabState', JSON.stringify({ tabs, activeTabIndex: 0 }))
      localStorage.setItem('graphiql:query', tab.query)
      localStorage.removeItem('graphiql:variables')
    })
    await page.goto(server.url)
    await expect.poll(shownTabs, { timeout: 30_000 }).toEqual(['Theirs'])
    await page.getByRole('link', { name: 'Start the tour again' }).click()
    await expect.poll(shownTabs, { timeout: 30_000 }).toEqual([...names, 'Theirs'])
    await page.locator('.graphiql-query-editor').getByText('Welcome to Holdpoint').waitFor()
    expect(page.url()).toBe(server.url)
    // A browser with tabs of another server at this address, which was never here before.
    await page.evaluate(() => localStorage.removeItem('holdpoint.tour'))
    await page.goto(server.url)
    await expect.poll(shownTabs, { timeout: 30_000 }).toEqual([...names, 'Theirs'])
  })

  test('[SRV63] its comments fit a window of 1024 pixels', async () => {
    await page.setViewportSize({ width: 1024, height: 768 })
    for (const name of names) {
      await show(name)
      const editor = (await page.locator('.graphiql-query-editor .monaco-editor .editor-scrollable').boundingBox())!
      const lines = await page
        .locator('.graphiql-query-editor .view-line > span')
        .evaluateAll((spans) => spans.map((span) => [span.textContent, span.getBoundingClientRect().right] as const))
      const comments = lines.filter(([text]) => text.startsWith('#'))
      expect(comments).not.toEqual([])
      for (const [text, right] of comments) expect(right, text).toBeLessThan(editor.x + editor.width)
    }
  })

  test('[SRV61] one key serves all tabs, also of a page that was loaded again, until it is forgotten', async () => {
    await run('Welcome', 'demo/scripted')
    await run('ListRuns', 'totalCount')
    await page.getByRole('button', { name: 'Forget the key' }).click()
    await page.getByLabel('API key').waitFor()
    expect(await page.evaluate(() => localStorage.getItem('holdpoint.key'))).toBeNull()
  })
})
