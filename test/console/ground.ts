import axe from 'axe-core'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

import type { TestApp } from '../support/app.ts'
import { ensureConsole } from '../support/built-console.ts'
import { openBrowser, type TestBrowser } from '../support/browser.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

/**
 * Errors that the browser logs while a server is killed and restarted: a request may be refused, or cut off before or
 * during its answer.
 */
const fromAServerThatWasKilled =
  /net::ERR_(CONNECTION|EMPTY_RESPONSE|INCOMPLETE_CHUNKED|CONTENT_LENGTH)|WebSocket connection|status of 401/

export interface Ground {
  /** A new browser window with its own storage, at this address: another person. */
  open(url: string): Promise<Page>
  /**
   * A tab of a window that all tests of the file share. A tab that an earlier test has left is used again, as good as
   * new: a new one needs a new process, which costs more than loading the console.
   */
  openTab(url: string): Promise<Page>
  /** Closes all windows and leaves all tabs. A page that stays open goes on following the server. */
  closePages(): Promise<void>
  /** Fails if any window logged an error, threw an exception, or sent a request to another origin. */
  assertClean(): void
  close(): Promise<void>
}

/** Undefined if there is no browser. */
export async function openGround(): Promise<Ground | undefined> {
  const [opened] = await Promise.all([openBrowser(await makeTemporaryFolder()), ensureConsole()])
  return opened && createGround(opened)
}

function createGround({ browser, close }: TestBrowser): Ground {
  const faults: string[] = []
  const windows = new Set<BrowserContext>()
  let shared: Promise<BrowserContext> | undefined
  const usedTabs = new Set<Page>()
  const freeTabs: Page[] = []

  const openWindow = (): Promise<BrowserContext> => browser.newContext({ viewport: wide, ...usualMedia })

  async function openPage(context: BrowserContext, url: string): Promise<Page> {
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    const { origin } = new URL(url)
    page.on('pageerror', (error) => faults.push(`${error.message} ${error.stack ?? ''}`))
    page.on('console', (message) => {
      if (message.type() === 'error' && !fromAServerThatWasKilled.test(message.text())) faults.push(message.text())
    })
    page.on('request', (request) => {
      // A worker that a page creates from a blob: URL has the page's origin.
      if (new URL(request.url()).origin !== origin) faults.push(`a request to ${request.url()}`)
    })
    await page.goto(url)
    return page
  }

  async function openTab(url: string): Promise<Page> {
    const left = freeTabs.pop()
    const tab = left ?? (await openPage(await (shared ??= openWindow()), url))
    usedTabs.add(tab)
    await left?.goto(url)
    return tab
  }

  return {
    async open(url) {
      const context = await openWindow()
      windows.add(context)
      return openPage(context, url)
    },
    openTab,
    async closePages() {
      for (const context of windows) await context.close()
      windows.clear()
      for (const tab of usedTabs) {
        await leave(tab)
        freeTabs.push(tab)
      }
      usedTabs.clear()
    },
    assertClean: () => expect(faults.splice(0)).toEqual([]),
    close,
  }
}

/** Makes a tab as good as new, except for what it shares with the other tabs of its window. */
async function leave(tab: Page): Promise<void> {
  await tab.unrouteAll()
  // A page without scripts. The console stores what was typed when it is left, so that is removed afterwards.
  await tab.goto(new URL('/healthz', tab.url()).href)
  await tab.evaluate('sessionStorage.clear()')
  await tab.setViewportSize(wide)
  await tab.emulateMedia(usualMedia)
}

/** Goes to another page of the console as a link does, without loading its scripts again. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`)
}

/** An entry of the conversation that a page shows. */
export function article(page: Page, name: string): Locator {
  return page.getByRole('log', { name: 'Conversation' }).getByRole('article', { name })
}

export async function send(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}

/** A tool that says what it was given. It takes `to`. */
export async function addTool(server: TestApp, name: string, requiresApproval = true): Promise<void> {
  const source = 'export default (args) => `did ${JSON.stringify(args)}`'
  const parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] }
  await server.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
    input: { name, requiresApproval, parameters, implementation: { javascript: { source } } },
  })
}

/** Rules whose outcome depends on the theme and the width. The others are looked at once. */
const rulesOfTheLook = ['color-contrast', 'scrollable-region-focusable', 'link-in-text-block']

/** The serious problems that axe finds, with the elements. */
export async function seriousFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Half a megabyte, which is sent and parsed once for a document.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source)
  const options = { resultTypes: ['violations'], preload: false, ...(rules && { runOnly: rules }) }
  // What axe found right is left in the page.
  const run = `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`
  const violations = (await page.evaluate(run)) as axe.AxeResults['violations']
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`))
}

const wide = { width: 1280, height: 800 }
/** Nothing moves, which would make the browser draw all the time. */
const usualMedia = { colorScheme: 'light', reducedMotion: 'reduce' } as const
const narrow = { width: 360, height: 740 }

const looks = [
  { viewport: wide, colorScheme: 'light', rules: undefined },
  { viewport: narrow, colorScheme: 'dark', rules: rulesOfTheLook },
] as const

/** Looks at a page when it is wide and light, and again when it is narrow and dark. */
export async function faultsInBothLooks(page: Page): Promise<string[]> {
  const faults: string[] = []
  for (const { viewport, colorScheme, rules } of looks) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const place = `${colorScheme}, ${viewport.width} px`
    faults.push(...(await seriousFaults(page, rules)).map((fault) => `${place}: ${fault}`))
    const wider = await page.evaluate(
      "Math.max(...['html', 'main', '.log'].map((box) => document.querySelector(box)).filter(Boolean).map((box) => box.scrollWidth - box.clientWidth))",
    )
    if (Number(wider) > 0) faults.push(`${place}: scrolls sideways`)
  }
  return faults
}
