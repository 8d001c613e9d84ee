import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { openGround, seriousFaults, type Ground } from './ground.ts'

const ground = await openGround()

describe.skipIf(!ground)('the lists and forms of the console', () => {
  const { open, closePages, assertClean } = ground as Ground
  let server: TestApp
  let talk: Talk
  let origin: string

  beforeAll(async () => {
    server = await startTestApp()
    talk = talkTo(server)
    origin = new URL(server.url).origin
  })
  afterEach(async () => {
    await closePages()
    assertClean()
  })
  afterAll(async () => {
    await ground?.close()
    await server.stop()
  })

  test('[CON162] what is over is not in the future for a browser whose clock is behind', async () => {
    const agent = await talk.createAgent({ model: 'demo/scripted' })
    await talk.settled(await talk.start(agent, 'Hello'))
    const page = await open(`${origin}/healthz`)
    await page.addInitScript('const now = Date.now; Date.now = () => now() - 60_000')
    await page.goto(`${origin}/runs`)
    const row = page.getByRole('table', { name: 'Runs' }).getByRole('row').nth(1)
    expect(await row.locator('time').textContent()).toBe('just now')
  })

  test('[CON164] the oldest of many conversations is reached by paging and by a search', async () => {
    const agent = await talk.createAgent({ model: 'demo/scripted' })
    const create =
      'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }'
    for (let number = 1; number <= 55; number++)
      await server.data(create, {
        input: { agentId: agent, title: number === 2 ? 'Refund of March' : `Talk ${number}` },
      })
    const page = await open(`${origin}/agents/${agent}`)
    const list = page.getByRole('navigation', { name: 'Conversations' })
    await list.getByRole('link', { name: 'Talk 55' }).waitFor()
    expect(await list.getByRole('link').count()).toBe(50)
    await list.getByRole('button', { name: 'Show older ones' }).click()
    await list.getByText('Talk 1', { exact: true }).click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    const current = list.locator('[aria-current=page]')
    await current.getByText('Talk 1', { exact: true }).waitFor()
    expect(await list.getByRole('link').count()).toBe(56)
    const { y, height } = (await current.boundingBox())!
    expect(y + height).toBeLessThanOrEqual(page.viewportSize()!.height)

    await page.reload()
    await list.getByRole('searchbox', { name: 'Search conversations' }).fill('refund')
    await list.getByRole('link', { name: 'Refund of March' }).click()
    await page.getByRole('button', { name: 'Refund of March' }).waitFor()
    expect(await list.getByRole('link').count()).toBe(1)
  })

  test('[CON163] a trial that is left half-way leaves no agent behind, and one that a killed browser left is deleted later', async () => {
    const source =
      'export default () => { const start = Date.now(); while (Date.now() - start < 1_500); return "done" }'
    await server.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
      input: { name: 'ponder', parameters: { type: 'object' }, implementation: { javascript: { source } } },
    })
    const runs = async () => (await server.data('{ agents { nodes { name runs { nodes { status } } } } }')).agents.nodes
    const trials = async () => (await runs()).filter(({ name }: { name: string }) => name.startsWith('Trial of'))
    const page = await open(`${origin}/tools`)
    await page.getByRole('button', { name: 'Try ponder' }).click()
    await page.getByRole('button', { name: 'Run the tool' }).click()
    await expect.poll(async () => (await trials())[0]?.runs.nodes.length).toBe(1)
    await page.close()
    await expect.poll(trials, { timeout: 10_000 }).toEqual([])

    await talk.createAgent({ name: 'Trial of ponder', model: 'demo/scripted', tags: ['console-trial'] })
    const later = await open(`${origin}/healthz`)
    await later.addInitScript('const now = Date.now; Date.now = () => now() + 600_000')
    await later.goto(`${origin}/tools`)
    await expect.poll(trials).toEqual([])
  })

  test('[CON165] one of many tools is found and given to an agent, also after a reload, and what few people set is folded away', async () => {
    const upsert = 'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }'
    for (let number = 1; number <= 110; number++)
      await server.data(upsert, {
        input: { name: `tool_${number}`, parameters: { type: 'object' }, implementation: { client: true } },
      })
    const page = await open(`${origin}/agents/new`)
    await page.getByRole('textbox', { name: 'Name' }).fill('Finder')
    await page.getByRole('combobox', { name: 'Model' }).fill('demo/scripted')
    const tools = page.getByRole('group', { name: 'Tools of the agent' })
    await tools.getByRole('button', { name: 'Show more tools' }).waitFor()
    const last = tools.getByRole('checkbox', { name: 'tool_1', exact: true })
    const first = tools.getByRole('checkbox', { name: 'tool_110', exact: true })
    expect([await last.count(), await first.count()].toSorted()).toEqual([0, 1])
    const hidden = (await last.count()) === 0 ? last : first
    await page.getByRole('searchbox', { name: 'Search tools' }).fill((await last.count()) === 0 ? 'tool_1' : 'tool_110')
    await hidden.check()
    await page.reload()
    await expect.poll(() => hidden.isChecked()).toBe(true)

    const temperature = page.getByLabel('Temperature')
    expect(await temperature.isVisible()).toBe(false)
    await page.getByText('Advanced').click()
    await temperature.fill('hot')
    await page.getByText('Advanced').click()
    await page.getByText('Advanced Temperature').waitFor()
    await page.getByRole('button', { name: 'Create agent' }).click()
    await temperature.and(page.locator('[aria-invalid=true]:focus')).waitFor()
    await temperature.fill('')
    await page.getByRole('button', { name: 'Create agent' }).click()
    await page.waitForURL('**/conversations/*')
    const { agents } = await server.data(
      '{ agents(filter: { nameContains: "Finder" }) { nodes { tools { tool { name } } } } }',
    )
    const names = agents.nodes[0].tools.map(({ tool }: { tool: { name: string } }) => tool.name)
    expect(names.filter((name: string) => name.startsWith('tool_'))).toHaveLength(1)
  })

  test('[CON166] the palette goes to pages, agents, runs and forms, and changes the theme, by keyboard', async () => {
    const agent = await talk.createAgent({ name: 'Palette friend', model: 'demo/scripted' })
    const run = await talk.start(agent, 'Hello')
    const page = await open(`${origin}/usage`)
    const palette = page.getByRole('dialog', { name: 'Go to' })
    const go = async (text: string, option: string | RegExp): Promise<void> => {
      await page.keyboard.press('Control+k')
      await palette.getByRole('combobox').fill(text)
      const found = palette.getByRole('option', { name: option })
      await found.waitFor()
      while ((await found.getAttribute('aria-selected')) !== 'true') await page.keyboard.press('ArrowDown')
      if (text === 'palette') expect(await seriousFaults(page)).toEqual([])
      await page.keyboard.press('Enter')
      await expect.poll(() => palette.count()).toBe(0)
    }
    await page.getByRole('status', { name: 'Connection' }).getByText('Connected').waitFor()
    // Not the agent's conversation, which is shown with the agent's name after its own.
    await go('palette', /^Palette friend/)
    await page.getByRole('heading', { name: 'Palette friend' }).waitFor()
    await go(run, run)
    await page.waitForURL(`**/runs/${run}`)
    await go('new block', 'New block')
    await page.getByRole('dialog', { name: 'New block' }).waitFor()
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/memory')
    await page.keyboard.press('Escape')
    await go('dark', 'Theme: dark')
    expect(await page.getByRole('radio', { name: 'Dark' }).isChecked()).toBe(true)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.keyboard.press('Escape')
    await expect.poll(() => palette.count()).toBe(0)
  })

  test('[CON167] on a phone, the pages are at the bottom, and the theme is behind one button', async () => {
    const page = await open(`${origin}/agents`)
    await page.setViewportSize({ width: 390, height: 800 })
    const main = page.getByRole('navigation', { name: 'Main' })
    const link = main.getByRole('link', { name: 'Settings' })
    await link.click()
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor()
    expect((await main.boundingBox())!.y).toBeGreaterThan(700)
    const { x, width } = (await link.boundingBox())!
    expect(x + width).toBeLessThanOrEqual(390)
    const head = (await page.getByRole('main').boundingBox())!.y
    expect(head).toBeLessThan(60)
    await page.getByRole('status', { name: 'Connection' }).getByText('Connected').waitFor()
    expect(await page.getByRole('radio', { name: 'Dark' }).count()).toBe(0)
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('radiogroup', { name: 'Theme' }).getByTitle('Dark').click()
    expect(await page.getByRole('radio', { name: 'Dark' }).isChecked()).toBe(true)
    expect(await seriousFaults(page)).toEqual([])
  })
})
