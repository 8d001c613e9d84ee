import axe from 'axe-core'
import type { BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'

import { ensureConsole } from '../support/built-console.ts'
import { openBrowser, type TestBrowser } from '../support/browser.ts'

/**
 * What the browser itself logs while a server is killed and started again: a request may be refused, cut off before
 * its answer, or cut off within it.
 */
const fromAServerThatWasKilled =
  /net::ERR_(CONNECTION|EMPTY_RESPONSE|INCOMPLETE_CHUNKED|CONTENT_LENGTH)|WebSocket connection|status of 401/

export interface Ground {
  /** A new browser window with its own storage, at this address. */
  open(url: string): Promise<Page>
  /** Fails if any window logged an error, threw, or asked another origin for something. */
  assertClean(): void
  close(): Promise<void>
}

/** Undefined where there is no browser. */
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
        // Of a worker that a page made itself (blob:), it is the page's.
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

/** What axe finds serious, in a form that names the elements. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`))
}
