import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import type { Page } from 'playwright-core'

import { createClient } from '../client/client.ts'
import { openBrowser } from '../test/support/browser.ts'
import { fillLittle } from './screenshot-data.ts'
import { fillMuch } from './screenshot-much.ts'
import { startThrowawayServer } from './throwaway-server.ts'

// Takes a picture of every page of the console, in both themes and at two widths, or those that the documentation shows.
const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: 'screenshots' },
    /** Those that README.md and docs/ show, in both themes, into docs/console. */
    docs: { type: 'boolean', default: false },
    /** Only the pages whose name contains this. */
    only: { type: 'string', default: '' },
    widths: { type: 'string', default: '1440,360' },
    themes: { type: 'string', default: 'light,dark' },
    /** `none` shows the empty state of every page, `much` hundreds of everything. */
    data: { type: 'string', default: 'little' },
  },
})

const server = await startThrowawayServer()
const home = await mkdtemp(join(tmpdir(), 'holdpoint-'))
const opened = await openBrowser(home)
if (!opened) throw new Error('There is no browser to take screenshots with.')
try {
  const origin = new URL(server.url).origin
  const client = createClient({ url: `${origin}/graphql` })
  const fill = { none: () => ({ agent: '', conversation: '', run: '' }), little: fillLittle, much: fillMuch }[
    values.data
  ]
  if (!fill) throw new Error('--data must be none, little or much.')
  const { agent, conversation, run } = await fill(client)
  const shown = values.docs ? await picturesOfDocs() : undefined
  const folder = shown ? 'docs/console' : values.folder
  const widths = shown ? [...new Set(shown.map(({ width }) => width))] : values.widths.split(',').map(Number)
  await mkdir(folder, { recursive: true })
  const pages = {
    agents: '/agents',
    'new-agent': '/agents/new',
    ...(conversation && { conversation: `/conversations/${conversation}` }),
    inbox: '/inbox',
    runs: '/runs',
    ...(run && { run: `/runs/${run}` }),
    schedules: '/schedules',
    usage: '/usage',
    budgets: '/budgets',
    tools: '/tools',
    memory: '/memory',
    ...(agent && { archive: `/agents/${agent}/archive` }),
    webhooks: '/webhooks',
    settings: '/settings',
    docs: '/docs',
  }
  const missing = shown?.filter(({ name }) => !(name in pages)) ?? []
  if (missing.length > 0) throw new Error(`There is no page for these pictures: ${JSON.stringify(missing)}`)
  for (const width of widths) {
    for (const colorScheme of values.themes.split(',') as ('light' | 'dark')[]) {
      const viewport = { width, height: width > 600 ? 900 : 740 }
      const context = await opened.browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
      const page = await context.newPage()
      const wanted = Object.entries(pages).filter(([name]) =>
        shown ? shown.some((one) => one.name === name && one.width === width) : name.includes(values.only),
      )
      for (const [name, path] of wanted) {
        await show(page, `${origin}${path}`)
        await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png` })
      }
      await context.close()
    }
  }
} finally {
  await opened.close()
  await rm(home, { recursive: true, force: true })
  await server.stop()
}

async function show(page: Page, url: string): Promise<void> {
  await page.goto(url)
  if (!url.endsWith('/docs')) await page.getByRole('status', { name: 'Connection' }).getByText('Connected').waitFor()
  // A page loads everything at once, so when no request is open, it is complete.
  await page.waitForLoadState('networkidle')
  // The run page is about steps, so one of them is opened.
  if (!url.includes('/runs/')) return
  await page.getByRole('region', { name: 'Timeline' }).getByText('Step 1').click()
  await page.locator('.skeleton').waitFor({ state: 'detached' })
}

async function picturesOfDocs(): Promise<{ readonly name: string; readonly width: number }[]> {
  const names = [
    'README.md',
    ...(await readdir('docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
  ]
  const pages = await Promise.all(names.map((name) => readFile(name, 'utf8')))
  return [...pages.join('\n').matchAll(/console\/([a-z-]+)-(\d+)-light\.png/g)].map(([, name, width]) => ({
    name: name!,
    width: Number(width),
  }))
}
