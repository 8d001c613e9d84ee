import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

import { findDeadLinks, proseOf } from './support/dead-links.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const isOurs = (path: string): boolean => !/(?:^|\/)(?:node_modules|dist|coverage)(?:\/|$)/.test(path)
const pages = (await Array.fromAsync(glob('**/*.md', { cwd: root, exclude: (path) => !isOurs(path) }))).filter(isOurs)

test('[DCS3] every link to a file or a heading of the repository has a target', async () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/tools.md', 'bench/README.md']))
  expect(await findDeadLinks(root, pages)).toEqual([])
})

test('[DCS3] the index of docs/ has every page', async () => {
  const index = await proseOf(join(root, 'docs/README.md'))
  const names = pages.filter((page) => /^docs\/[^/]+\.md$/.test(page) && page !== 'docs/README.md')
  expect(names.filter((page) => !index.includes(`](${page.slice('docs/'.length)})`))).toEqual([])
})
