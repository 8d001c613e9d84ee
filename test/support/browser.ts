import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { chromium, type Browser } from 'playwright-core'

export interface TestBrowser {
  readonly browser: Browser
  close(): Promise<void>
}

/**
 * A real browser: on Linux the Chromium of an npm package, which needs only glibc; elsewhere an installed Chrome.
 * Undefined if there is none, so that a test can say that it skips.
 */
export async function openBrowser(): Promise<TestBrowser | undefined> {
  const isLinux = process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64')
  return isLinux ? openPackagedChromium() : openInstalledChrome()
}

async function openPackagedChromium(): Promise<TestBrowser | undefined> {
  // It unpacks itself and its libraries into the temporary folder, readable only for this user.
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-browser-'))
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const executablePath = await unpackChromium(folder)
    await writeFile(join(folder, 'fonts.conf'), fontsConf(folder))
    const env = {
      ...process.env,
      LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
      HOME: folder,
    }
    // The package's recommended arguments turn off web security, which a test must not do.
    const browser = await chromium.launch({ executablePath, headless: true, args: ['--no-sandbox'], env })
    return {
      browser,
      async close() {
        await browser.close()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    console.warn(`There is no browser to test with: ${String(error)}`)
    return undefined
  }
}

/**
 * The package reads and changes this process's environment, which other tests pass on to their servers, so it is
 * restored.
 */
async function unpackChromium(folder: string): Promise<string> {
  const before = { ...process.env }
  // It unpacks the NSS libraries that it contains only if it believes to be on AWS.
  Object.assign(process.env, { TMPDIR: folder, AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x' })
  try {
    const { default: packaged } = await import('@sparticuz/chromium')
    return await packaged.executablePath()
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  }
}

/** Chromium crashes if a font family has no match, so the packaged font replaces every missing one. */
function fontsConf(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, 'fonts')}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(folder, 'font-cache')}</cachedir>
  <match target="pattern"><edit name="family" mode="append_last"><string>Open Sans</string></edit></match>
</fontconfig>
`
}

async function openInstalledChrome(): Promise<TestBrowser | undefined> {
  try {
    const browser = await chromium.launch({ channel: 'chrome', headless: true })
    return { browser, close: () => browser.close() }
  } catch (error) {
    console.warn(`There is no browser to test with: ${String(error)}`)
    return undefined
  }
}
