import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import highlight from 'highlight.js/lib/common'
import graphqlLanguage from 'highlight.js/lib/languages/graphql'
import {
  isTypeDefinitionNode,
  Kind,
  parse,
  print,
  type DefinitionNode,
  type FieldDefinitionNode,
  type TypeDefinitionNode,
} from 'graphql'
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
  /** The heading of docs/README.md below which the page is listed. Empty for that page itself. */
  readonly group: string
  readonly markdown: string
}

highlight.registerLanguage('graphql', graphqlLanguage)

/**
 * Writes docs/ as web pages that work offline: one file per page, and an index for the search. They have the look of
 * the console, whose page `consoleHtml` names the style sheet and the font.
 */
export async function buildDocs(output: string, consoleHtml: string): Promise<void> {
  await mkdir(output, { recursive: true })
  const pages = await readPages()
  const look = consoleHtml.match(/<link\s[^>]*(?:rel="stylesheet"|as="font")[^>]*>/g)!.join('\n')
  const sections: Section[] = []
  for (const [index, page] of pages.entries()) {
    const rendered = render(page)
    sections.push(...rendered.found)
    const beside = { before: pages[index - 1], after: pages[index + 1] }
    await writeFile(join(output, `${page.name}.html`), layOut(page, rendered, { pages, look, ...beside }))
    for (const image of rendered.images) {
      await mkdir(dirname(join(output, image)), { recursive: true })
      await copyFile(join(docs, image), join(output, image))
    }
  }
  await writeFile(join(output, 'search.json'), JSON.stringify(sections))
  for (const name of ['docs.css', 'site.js']) await copyFile(join(docs, 'site', name), join(output, name))
}

/** In the order of the index page, with the reference at the end. */
async function readPages(): Promise<Page[]> {
  const index = await readFile(join(docs, 'README.md'), 'utf8')
  const listed = index.split(/^## /m).flatMap((part) => {
    const links = [...part.matchAll(/^- .*$/gm)].flatMap(([line]) => [
      ...line.matchAll(/\[([^\]]+)\]\(([a-z-]+)\.md\)/g),
    ])
    return links.map(([, title, name]) => ({ name: name!, shortTitle: title!, group: part.split('\n', 1)[0]! }))
  })
  const pages = await Promise.all(
    listed.map(async (one) => toPage({ ...one, markdown: await readFile(join(docs, `${one.name}.md`), 'utf8') })),
  )
  const reference = describeSchema(await readFile(join(root, 'schema.graphql'), 'utf8'))
  return [
    toPage({ name: 'index', shortTitle: 'Overview', group: '', markdown: index }),
    ...pages,
    toPage({ name: 'api', shortTitle: 'API', group: listed.at(-1)!.group, markdown: reference }),
  ]
}

/** Every operation and type of the schema under a heading of its own. */
function describeSchema(sdl: string): string {
  const section = (node: FieldDefinitionNode | TypeDefinitionNode): string => {
    const { description, ...rest } = node
    const code = `\`\`\`graphql\n${print(rest)}\n\`\`\``
    return [`### ${node.name.value}`, description?.value ?? '', code].join('\n\n')
  }
  const roots = ['Query', 'Mutation', 'Subscription']
  const describe = (type: DefinitionNode): string[] => {
    if (!isTypeDefinitionNode(type)) return []
    const { value: name } = type.name
    if (type.kind !== Kind.OBJECT_TYPE_DEFINITION || !roots.includes(name)) return [section(type)]
    return [`## ${name}`, ...(type.fields ?? []).map(section)]
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

function toPage(page: Omit<Page, 'title'>): Page {
  return { ...page, title: /^# (.+)$/m.exec(page.markdown)?.[1] ?? page.shortTitle }
}

interface Rendered {
  readonly html: string
  readonly found: readonly Section[]
  readonly images: readonly string[]
  readonly headings: readonly { readonly id: string; readonly depth: number; readonly text: string }[]
}

function render(page: Page): Rendered {
  const found: { path: string; page: string; heading: string; text: string }[] = []
  const headings: { id: string; depth: number; text: string }[] = []
  const images: string[] = []
  const marked = new Marked()
  const ids = new Set<string>()
  /** The id of each heading by its text. In the reference, the query `agent` and the type `Agent` have one each. */
  const anchors = new Map<string, string>()
  for (const token of marked.lexer(page.markdown)) {
    if (token.type !== 'heading') continue
    const id = slug(token['text'])
    anchors.set(token['text'], ids.has(id) ? `${id}-1` : id)
    ids.add(id)
  }
  const add = (id: string, heading: string, text = '') => {
    const section = {
      path: `${addressOf(page.name)}${id && `#${id}`}`,
      page: page.title,
      heading: plain(heading),
      text,
    }
    found.push(section)
    return section
  }
  let current: { text: string } | undefined
  marked.use({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = anchors.get(text)!
        const inner = this.parser.parseInline(tokens)
        current = add(depth > 1 ? id : '', text)
        if (depth === 1) return `<h1>${inner}</h1>\n`
        headings.push({ id, depth, text: plain(text) })
        return `<h${depth} id="${id}"><a href="#${id}">${inner}</a></h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const target = addressOfLink(href)
        return target === undefined ? text : `<a href="${escape(target)}" rel="noreferrer">${text}</a>`
      },
      image({ href, text }) {
        const dark = href.replace('-light.', '-dark.')
        const both = dark !== href && existsSync(join(docs, dark))
        const one = (name: string, look = '') => {
          images.push(name)
          return `<img src="/docs/${escape(name)}" alt="${escape(text)}" loading="lazy"${look && ` class="${look}"`}>`
        }
        return both ? one(href, 'in-light') + one(dark, 'in-dark') : one(href)
      },
      code({ text, lang }) {
        const language = lang && highlight.getLanguage(lang) ? lang : undefined
        const shown = language ? highlight.highlight(text, { language }).value : escape(text)
        const body = page.name === 'api' ? linkTypes(shown, anchors) : shown
        return `<div class="code"><div class="code-head"><span>${escape(lang ?? '')}</span></div><pre><code>${body}</code></pre></div>\n`
      },
      // A row that explains a name in code, such as a setting, can be linked to and found by that name.
      table({ header, rows }) {
        const cells = (row: typeof header, tag: string) =>
          row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')
        const body = rows.map((row) => {
          const [name, ...rest] = row
          const code = name!.tokens[0]
          const id = code?.type === 'codespan' ? code['text'].replaceAll(/[^\w-]+/g, '-') : ''
          const isNew = id !== '' && !ids.has(id)
          if (isNew) add(id, name!.text, rest.map(({ text }) => plain(text)).join(' · '))
          ids.add(id)
          return `<tr${isNew ? ` id="${id}"` : ''}>${cells(row, 'td')}</tr>`
        })
        return `<div class="table-scroll"><table><thead><tr>${cells(header, 'th')}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>\n`
      },
      html: ({ text }) => (text.startsWith('<!--') ? '' : escape(text)),
    },
  })
  // One token at a time, because text belongs to the section whose heading was rendered last.
  let html = ''
  for (const token of marked.lexer(page.markdown)) {
    html += marked.parser([token])
    if (current && token.type !== 'heading')
      current.text += ` ${plain(token.type === 'code' ? token['text'] : token.raw.replaceAll(/\s*\|[\s|:-]*/g, ' '))}`
  }
  return { html, found, images, headings }
}

/** Names of types in highlighted code lead to their descriptions. Strings are descriptions themselves. */
function linkTypes(code: string, anchors: ReadonlyMap<string, string>): string {
  return code.replaceAll(/<span class="hljs-string">[^<]*<\/span>|\b[A-Z]\w+\b/g, (text) => {
    const id = anchors.get(text)
    return id ? `<a href="#${id}">${text}</a>` : text
  })
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

interface Around {
  readonly pages: readonly Page[]
  /** The tags of the console's style sheet and font. */
  readonly look: string
  readonly before: Page | undefined
  readonly after: Page | undefined
}

function layOut(page: Page, { html, headings }: Rendered, { pages, look, before, after }: Around): string {
  const groups = Map.groupBy(pages, ({ group }) => group)
  const link = ({ name, shortTitle }: Page, rel = '') =>
    `<a href="${addressOf(name)}"${name === page.name ? ' aria-current="page"' : ''}${rel}>${escape(shortTitle)}</a>`
  const list = (items: readonly string[]) => `<ul>${items.map((item) => `<li>${item}</li>`).join('\n')}</ul>`
  const navigation = [...groups].flatMap(([group, members]) => {
    const links = members.map((member) => link(member))
    return group ? [`<span>${escape(group)}</span>${list(links)}`] : links
  })
  // The reference has hundreds of parts, so only its chapters are listed.
  const listed = headings.filter(({ depth }) => depth === 2 || (depth === 3 && headings.length < 50))
  const contents = listed.map(({ id, depth, text }) => `<a href="#${id}" class="depth-${depth}">${escape(text)}</a>`)
  const menu = (name: string, controls: string) =>
    `<button type="button" class="button" aria-expanded="false" aria-controls="${controls}">${name}</button>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(page.title)} · Holdpoint</title>
<link rel="icon" href="/icon.svg">
${look}
<link rel="stylesheet" href="/docs/docs.css">
<script src="/docs/site.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="/docs"><img src="/icon.svg" alt=""> Holdpoint <span>Docs</span></a>
<search>
<input type="search" id="search" placeholder="Search, or a setting by its name" aria-label="Search the documentation" aria-keyshortcuts="/" autocomplete="off">
<ul id="results" aria-label="Search results" hidden></ul>
</search>
<select id="theme" aria-label="Theme"><option value="system">System</option><option value="light">Light</option><option value="dark">Dark</option></select>
<a class="button" href="/">Console</a>
${menu('Menu', 'pages')}
</header>
<nav id="pages" aria-label="Documentation">
${list(navigation)}
</nav>
${contents.length > 1 ? `<div class="contents">${menu('On this page', 'contents')}<nav id="contents" aria-label="On this page">${list(contents)}</nav></div>` : ''}
<main id="content" class="markdown" tabindex="-1">
${html}<nav class="beside" aria-label="Previous and next page">
${before ? link(before, ' rel="prev"') : '<span></span>'}
${after ? link(after, ' rel="next"') : ''}
</nav>
</main>
</body>
</html>
`
}
