import { readdir, readFile } from 'node:fs/promises'

/** A fenced block of a page. */
export interface Block {
  readonly language: string
  readonly text: string
  readonly line: number
}

const root = new URL('../../', import.meta.url)

/** The README and the pages of docs/. */
export const pages: readonly string[] = [
  'README.md',
  ...(await readdir(new URL('docs/', root))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
]

export async function blocksOf(page: string): Promise<Block[]> {
  const lines = (await readFile(new URL(page, root), 'utf8')).split('\n')
  const blocks: Block[] = []
  let open: { language: string; from: number } | undefined
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith('```')) continue
    if (!open) open = { language: line.slice(3).trim(), from: index + 1 }
    else {
      blocks.push({ language: open.language, text: lines.slice(open.from, index).join('\n'), line: open.from })
      open = undefined
    }
  }
  return blocks
}

export interface Program extends Block {
  readonly page: string
}

/** The blocks of all pages in one of these languages. */
export async function programsOfPages(...languages: readonly string[]): Promise<Program[]> {
  const blocks = await Promise.all(
    pages.map(async (page) => (await blocksOf(page)).map((block) => ({ ...block, page }))),
  )
  return blocks.flat().filter(({ language }) => languages.includes(language))
}

/** Belongs to GraphQL Code Generator, which is not installed here: see DCS62. */
export const isOfGenerator = ({ text }: Block): boolean => /@graphql-codegen|'\.\/gql'/.test(text)

export const hasJsx = ({ text }: Block): boolean => /^ +<\w/m.test(text)

/** A name of its own for the file of a program. */
export function fileOf({ page, line, language }: Program): string {
  return `${page.replaceAll(/\W+/g, '-')}-${line}.${language === 'js' ? 'js' : 'ts'}`
}
