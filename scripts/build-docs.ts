import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import highlight from 'highlight.js/lib/common'
import graphqlLanguage from 'highlight.js/lib/languages/graphql'
import { Kind, parse, print, type DefinitionNode } from 'graphql'
import { Marked } from 'marked'

const root = fileURLToPath(new URL('../', import.meta.url))
const docs = join(root, 'docs')

/** A part of a page that a search can find. */
interface Section {
  readonly path: string
  readonly page: string
  readonly heading: string
  readonly text: string
}

interface Page {
  readonly name: string
  readonly title: string
  /** In the navigation, where there is little room. */
  readonly shortTitle: string
  readonly markdown: string
}

highlight.registerLanguage('graphql', graphqlLanguage)

/** Writes docs/ as web pages that work offline: one file per page, a style sheet, and an index for the search. */
export async function buildDocs(output: string): Promise<void> {
  await mkdir(output, { recursive: true })
  const pages = await readPages()
  const sections: Section[] = []
  for (const page of pages) {
    const { html, found, images } = render(page)
    sections.push(...found)
    await writeFile(join(output, `${page.name}.html`), layOut(page, html, pages))
    for (const image of images) {
      await mkdir(dirname(join(output, image)), { recursive: true })
      await copyFile(join(docs, image), join(output, image))
    }
  }
  await writeFile(join(output, 'search.json'), JSON.stringify(sections))
  for (const name of ['docs.css', 'site.js']) await copyFile(join(docs, 'site', name), join(output, name))
}

/** In the order of the index page, then the rest, then the reference. */
async function readPages(): Promise<Page[]> {
  const index = await readFile(join(docs, 'README.md'), 'utf8')
  const shortTitles = new Map(
    [...index.matchAll(/^- \[([^\]]+)\]\(([a-z-]+)\.md\)/gm)].map(([, title, name]) => [name!, title!]),
  )
  const present = (await readdir(docs)).filter((name) => /^[a-z-]+\.md$/.test(name)).map((name) => name.slice(0, -3))
  const names = [...new Set([...[...shortTitles.keys()].filter((name) => present.includes(name)), ...present])]
  const pages = await Promise.all(
    names.map(async (name) => toPage(name, await readFile(join(docs, `${name}.md`), 'utf8'), shortTitles.get(name))),
  )
  const reference = describeSchema(await readFile(join(root, 'schema.graphql'), 'utf8'))
  return [toPage('index', index, 'Overview'), ...pages, toPage('api', reference)]
}

/** Every operation and type of the schema under a heading of its own. */
function describeSchema(sdl: string): string {
  const section = (name: string, code: string) => `### ${name}\n\n\`\`\`graphql\n${code}\n\`\`\``
  const roots = ['Query', 'Mutation', 'Subscription']
  const describe = (type: DefinitionNode): string[] => {
    if (!('name' in type) || type.kind === Kind.DIRECTIVE_DEFINITION) return []
    const { value: name } = type.name
    if (type.kind !== Kind.OBJECT_TYPE_DEFINITION || !roots.includes(name)) return [section(name, print(type))]
    return [`## ${name}`, ...(type.fields ?? []).map((field) => section(field.name.value, print(field)))]
  }
  const { definitions } = parse(sdl)
  const rank = (type: DefinitionNode) => ('name' in type ? roots.toReversed().indexOf(type.name.value) : -1)
  const sorted = definitions.toSorted((one, other) => rank(other) - rank(one))
  const types = sorted.findIndex((type) => rank(type) === -1)
  return [
    '# API reference',
    'This is `schema.graphql`, which the server also serves at `/schema.graphql`.',
    ...sorted.slice(0, types).flatMap(describe),
    '## Types',
    ...sorted.slice(types).flatMap(describe),
  ].join('\n\n')
}

function toPage(name: string, markdown: string, shortTitle?: string): Page {
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? name
  return { name, title, shortTitle: shortTitle ?? title, markdown }
}

function render(page: Page): { html: string; found: Section[]; images: string[] } {
  const found: { path: string; page: string; heading: string; text: string }[] = []
  const images: string[] = []
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = slug(text)
        const path = `${addressOf(page.name)}${depth > 1 ? `#${id}` : ''}`
        found.push({ path, page: page.title, heading: plain(text), text: '' })
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const target = addressOfLink(href)
        return target === undefined ? text : `<a href="${escape(target)}" rel="noreferrer">${text}</a>`
      },
      image({ href, text }) {
        images.push(href)
        return `<img src="/docs/${escape(href)}" alt="${escape(text)}">`
      },
      code({ text, lang }) {
        const language = lang && highlight.getLanguage(lang) ? lang : undefined
        const body = language ? highlight.highlight(text, { language }).value : escape(text)
        return `<pre><code>${body}</code></pre>\n`
      },
      html: ({ text }) => (text.startsWith('<!--') ? '' : escape(text)),
    },
  })
  const tokens = marked.lexer(page.markdown)
  // One token at a time, because text belongs to the section whose heading was rendered last.
  let html = ''
  for (const token of tokens) {
    html += marked.parser([token])
    const section = found.at(-1)
    if (section && token.type !== 'heading') section.text += ` ${plain(token.raw)}`
  }
  return { html, found, images }
}

function addressOf(name: string): string {
  return name === 'index' ? '/docs' : `/docs/${name}`
}

/** Undefined for files of the repository, which the server does not serve. */
function addressOfLink(href: string): string | undefined {
  if (/^(https?:|#)/.test(href)) return href
  const match = /^([a-z-]+)\.md(#.*)?$/.exec(href)
  return match ? `${addressOf(match[1]!)}${match[2] ?? ''}` : undefined
}

/** The id of a heading, as GitHub makes it. */
export function slug(heading: string): string {
  return plain(heading)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

function plain(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*_]{1,2}([^`*]+)[`*_]{1,2}/g, '$1')
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

function layOut(page: Page, html: string, pages: readonly Page[]): string {
  const links = pages.map(({ name, shortTitle }) => {
    const current = name === page.name ? ' aria-current="page"' : ''
    return `<li><a href="${addressOf(name)}"${current}>${escape(shortTitle)}</a></li>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(page.title)} · Holdpoint</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/docs/docs.css">
</head>
<body>
<nav aria-label="Documentation">
<a class="home" href="/">Holdpoint</a>
<input type="search" id="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off">
<ul id="results" aria-label="Search results" hidden></ul>
<details id="pages" open>
<summary>All pages</summary>
<ul>
${links.join('\n')}
</ul>
</details>
</nav>
<script src="/docs/site.js"></script>
<main>
${html}</main>
</body>
</html>
`
}
