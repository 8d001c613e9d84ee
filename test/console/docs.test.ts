import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { faultsInBothLooks, openGround, type Ground } from './ground.ts'

const ground = await openGround()

describe.skipIf(!ground)('the documentation in a browser', () => {
  const { open, assertClean } = ground as Ground
  let server: TestApp
  let origin: string

  beforeAll(async () => {
    server = await startTestApp()
    origin = new URL(server.url).origin
  })
  afterAll(async () => {
    await ground?.close()
    await server.stop()
  })

  test('[DCS7] a reader finds a setting by its name, copies code, goes on to the next page and keeps the theme', async () => {
    const page = await open(`${origin}/docs/approvals`)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const pages = page.getByRole('navigation', { name: 'Documentation' })
    expect(await pages.getByRole('link', { name: 'Approvals' }).getAttribute('aria-current')).toBe('page')
    const group = pages.getByRole('listitem').filter({ hasText: 'First steps' })
    await group.getByRole('link', { name: 'Quick start' }).waitFor()
    await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'Deciding' }).click()
    await page.waitForURL('**/docs/approvals#deciding')

    const code = page.locator('.code').first()
    await code.getByRole('button', { name: 'Copy' }).click()
    await code.getByText('Copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await code.locator('code').textContent())

    await page.getByLabel('Theme').selectOption('Dark')
    const background = (): Promise<unknown> =>
      page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    const dark = await background()
    const beside = page.getByRole('navigation', { name: 'Previous and next page' }).getByRole('link')
    const [before, after] = await beside.evaluateAll((links) => links.map((link) => link.getAttribute('href')))
    await beside.last().click()
    await page.waitForURL(`**${after}`)
    expect(await background()).toBe(dark)
    expect(before).not.toBe(after)

    await page.keyboard.press('/')
    await page.keyboard.type('holdpoint_data_dir')
    const results = page.getByRole('list', { name: 'Search results' })
    await expect.poll(() => results.getByRole('link').first().textContent()).toContain('HOLDPOINT_DATA_DIR')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/configuration#HOLDPOINT_DATA_DIR')
    const row = page.getByRole('row', { name: 'HOLDPOINT_DATA_DIR' })
    expect(await row.evaluate((element) => element.matches(':target'))).toBe(true)

    await page.goto(`${origin}/agents`)
    await page.getByRole('heading', { name: 'Agents' }).waitFor()
    expect(await background()).toBe(dark)
    assertClean()
  })

  test('[DCS7] axe finds nothing serious, and no page scrolls sideways, wide or narrow', async () => {
    const page = await open(`${origin}/docs`)
    for (const name of ['', '/configuration', '/comparison', '/quick-start']) {
      await page.goto(`${origin}/docs${name}`)
      expect(await faultsInBothLooks(page), name).toEqual([])
      // On a narrow screen the lists are closed at first.
      const pages = page.getByRole('navigation', { name: 'Documentation' })
      expect(await pages.isVisible()).toBe(false)
      await page.getByRole('button', { name: 'Menu' }).click()
      expect(await pages.isVisible()).toBe(true)
      expect(await faultsInBothLooks(page), name).toEqual([])
    }
    assertClean()
  })
})
