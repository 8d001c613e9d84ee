import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { slug } from '../../scripts/build-docs.ts'

/** The text of a page without its code, in which brackets are not links. */
export async function proseOf(page: string): Promise<string> {
  return (await readFile(page, 'utf8')).replaceAll(/^```.*?^```/gms, '')
}

/** The relative links of the pages, Markdown files below `root`, to files or headings that are not there. */
export async function findDeadLinks(root: string, pages: readonly string[]): Promise<string[]> {
  return (await Promise.all(pages.map((page) => deadLinksOf(root, page)))).flat()
}

async function deadLinksOf(root: string, page: string): Promise<string[]> {
  const dead: string[] = []
  for (const [, href] of (await proseOf(join(root, page))).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^https?:/.test(href!)) continue
    const [path, anchor] = href!.split('#')
    const target = join(root, path ? join(dirname(page), path) : page)
    const isDead = !existsSync(target) || (anchor && !(await headingsOf(target)).includes(anchor))
    if (isDead) dead.push(`${page}: ${href}`)
  }
  return dead
}

async function headingsOf(page: string): Promise<string[]> {
  return [...(await proseOf(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => slug(heading!))
}
