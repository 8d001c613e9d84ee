import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

import { slug } from '../scripts/build-docs.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const isOurs = (path: string): boolean => !/(?:^|\/)(?:node_modules|dist|coverage)(?:\/|$)/.test(path)
const pages = (await Array.fromAsync(glob('**/*.md', { cwd: root, exclude: (path) => !isOurs(path) }))).filter(isOurs)

/** The text of a page without its code, in which brackets are not links. */
async function proseOf(page: string): Promise<string> {
  return (await readFile(join(root, page), 'utf8')).replaceAll(/^```.*?^```/gms, '')
}

async function deadLinksOf(page: string): Promise<string[]> {
  const dead: string[] = []
  for (const [, href] of (await proseOf(page)).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^https?:/.test(href!)) continue
    const [path, anchor] = href!.split('#')
    const target = path ? join(dirname(page), path) : page
    const isDead = !existsSync(join(root, target)) || (anchor && !(await headingsOf(target)).includes(anchor))
    if (isDead) dead.push(`${page}: ${href}`)
  }
  return dead
}

async function headingsOf(page: string): Promise<string[]> {
  return [...(await proseOf(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => slug(heading!))
}

test('[DCS3] every link to a file or a heading of the repository has a target', async () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/tools.md', 'bench/README.md']))
  expect((await Promise.all(pages.map(deadLinksOf))).flat()).toEqual([])
})

test('[DCS3] the index of docs/ has every page', async () => {
  const index = await proseOf('docs/README.md')
  const names = pages.filter((page) => /^docs\/[^/]+\.md$/.test(page) && page !== 'docs/README.md')
  expect(names.filter((page) => !index.includes(`](${page.slice('docs/'.length)})`))).toEqual([])
})
