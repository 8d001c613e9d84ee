import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { chromium, type Browser } from 'playwright-core'

import { findMemory } from './memory.ts'

export interface TestBrowser {
  readonly browser: Browser
  close(): Promise<void>
}

/**
 * A real browser: on Linux the Chromium of an npm package, which needs only glibc; elsewhere an installed Chrome.
 * Undefined if there is none, so that a test can say that it skips. Its files are in `home`.
 */
export async function openBrowser(home: string): Promise<TestBrowser | undefined> {
  const isLinux = process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64')
  return isLinux ? openPackagedChromium(home) : openInstalledChrome()
}

async function openPackagedChromium(home: string): Promise<TestBrowser | undefined> {
  try {
    const folder = await unpackedChromium()
    await writeFile(join(home, 'fonts.conf'), fontsConf(folder))
    const env = {
      ...process.env,
      LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
      FONTCONFIG_FILE: join(home, 'fonts.conf'),
      HOME: home,
    }
    // The package's recommended arguments turn off web security, which a test must not do.
    // Without what no test looks at: a process for the graphics card, and a renderer for each page of one server. And
    // without optimized code: no page lives long enough to repay what it costs to make.
    const unoptimized = '--js-flags=--no-turbofan --no-maglev'
    const args = ['--no-sandbox', '--disable-gpu', '--in-process-gpu', '--process-per-site', '--no-zygote', unoptimized]
    // Playwright lets it share memory through files on disk, because there may be little.
    const ignoreDefaultArgs = (await findMemory()) === undefined ? [] : ['--disable-dev-shm-usage']
    const executablePath = join(folder, 'chromium')
    const browser = await chromium.launch({ executablePath, headless: true, args, ignoreDefaultArgs, env })
    return { browser, close: () => browser.close() }
  } catch (error) {
    console.warn(`There is no browser to test with: ${String(error)}`)
    return undefined
  }
}

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url))

/** The folder with Chromium, its libraries and its fonts. Unpacking 200 MB takes seconds, so it is done once. */
async function unpackedChromium(): Promise<string> {
  const manifest = await readFile(join(modules, '@sparticuz/chromium/package.json'), 'utf8')
  const cache = join(modules, '.cache')
  const folder = join(cache, `chromium-${(JSON.parse(manifest) as { version: string }).version}`)
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const fresh = await mkdtemp(join(cache, 'chromium-'))
  await unpackInto(fresh)
  try {
    await rename(fresh, folder)
  } catch (error) {
    // Another process may have been faster.
    await rm(fresh, { recursive: true })
    if (!existsSync(folder)) throw error
  }
  return folder
}

/**
 * The package unpacks into the temporary folder, and reads and changes this process's environment, which other tests
 * pass on to their servers, so it is restored.
 */
async function unpackInto(folder: string): Promise<void> {
  const before = { ...process.env }
  // It unpacks the NSS libraries that it contains only if it believes to be on AWS.
  Object.assign(process.env, { TMPDIR: folder, AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x' })
  try {
    const { default: packaged } = await import('@sparticuz/chromium')
    await packaged.executablePath()
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
