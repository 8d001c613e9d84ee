import axe from 'axe-core'
import type { BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'

import { ensureConsole } from '../support/built-console.ts'
import { openBrowser, type TestBrowser } from '../support/browser.ts'

/**
 * Errors that the browser logs while a server is killed and restarted: a request may be refused, or cut off before or
 * during its answer.
 */
const fromAServerThatWasKilled =
  /net::ERR_(CONNECTION|EMPTY_RESPONSE|INCOMPLETE_CHUNKED|CONTENT_LENGTH)|WebSocket connection|status of 401/

export interface Ground {
  /** A new browser window with its own storage, at this address. */
  open(url: string): Promise<Page>
  /** Fails if any window logged an error, threw an exception, or sent a request to another origin. */
  assertClean(): void
  close(): Promise<void>
}

/** Undefined if there is no browser. */
export async function openGround(): Promise<Ground | undefined> {
  const [opened] = await Promise.all([openBrowser(), ensureConsole()])
  return opened && createGround(opened)
}

function createGround({ browser, close }: TestBrowser): Ground {
  const contexts: BrowserContext[] = []
  const faults: string[] = []
  return {
    async open(url) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
      contexts.push(context)
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
    },
    assertClean: () => expect(faults.splice(0)).toEqual([]),
    async close() {
      for (const context of contexts) await context.close()
      await close()
    },
  }
}

/** The serious problems that axe finds, with the elements. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(`window.axe ?? (() => {${axe.source}})()`)
  const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`))
}

const wide = { width: 1280, height: 800 }
const narrow = { width: 360, height: 740 }

/** Looks at a page when it is wide and light, and again when it is narrow and dark. */
export async function faultsInBothLooks(page: Page): Promise<string[]> {
  const faults: string[] = []
  for (const { viewport, colorScheme } of [
    { viewport: wide, colorScheme: 'light' },
    { viewport: narrow, colorScheme: 'dark' },
  ] as const) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const place = `${colorScheme}, ${viewport.width} px`
    faults.push(...(await seriousFaults(page)).map((fault) => `${place}: ${fault}`))
    const wider = await page.evaluate(
      "Math.max(...['html', 'main', '.log'].map((box) => document.querySelector(box)).filter(Boolean).map((box) => box.scrollWidth - box.clientWidth))",
    )
    if (Number(wider) > 0) faults.push(`${place}: scrolls sideways`)
  }
  return faults
}
