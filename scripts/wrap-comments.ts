import { globSync, readFileSync, writeFileSync } from 'node:fs'

/**
 * Wraps comments that are wider than the code may be, because prettier leaves comments alone. With `--check`, it only
 * lists them. Comments after code on the same line are listed too, but have to be shortened by hand.
 */
const root = new URL('..', import.meta.url)
const { printWidth: width } = JSON.parse(readFileSync(new URL('.prettierrc.json', root), 'utf8')) as {
  readonly printWidth: number
}

/** A paragraph of a comment: what each of its lines begins with, and its text. */
interface Paragraph {
  readonly prefix: string
  readonly lines: string[]
}

const line = /^(?<indent>\s*)(?<mark>\/\/|\/\*\*|\*\/|\*)(?<text>.*)$/

function wrapAll(source: string): string {
  const wrapped: string[] = []
  let paragraph: Paragraph | undefined
  const end = () => {
    if (paragraph) wrapped.push(...wrapParagraph(paragraph))
    paragraph = undefined
  }
  for (const each of source.split('\n').flatMap(opened)) {
    const { indent = '', mark = '', text = '' } = line.exec(each)?.groups ?? {}
    const isProse = (mark === '//' || mark === '*') && /^ \S/.test(text) && !/^ ([-|@#]|\d+\.|oxlint-)/.test(text)
    if (!isProse) {
      end()
      wrapped.push(each)
      continue
    }
    const prefix = `${indent}${mark} `
    if (paragraph?.prefix !== prefix) end()
    paragraph ??= { prefix, lines: [] }
    paragraph.lines.push(text.trim())
  }
  end()
  return wrapped.join('\n')
}

/** A block comment of one line that is too wide gets lines of its own. */
function opened(each: string): string[] {
  const [, indent, text] = /^(\s*)\/\*\* (.*) \*\/$/.exec(each) ?? []
  if (each.length <= width || text === undefined) return [each]
  return [`${indent}/**`, `${indent} * ${text}`, `${indent} */`]
}

function wrapParagraph({ prefix, lines }: Paragraph): string[] {
  if (lines.every((text) => prefix.length + text.length <= width)) return lines.map((text) => prefix + text)
  const wrapped: string[] = []
  let current = prefix.trimEnd()
  for (const word of lines.join(' ').split(/\s+/)) {
    if (current.length + 1 + word.length > width && current !== prefix.trimEnd()) {
      wrapped.push(current)
      current = prefix.trimEnd()
    }
    current += ` ${word}`
  }
  return [...wrapped, current]
}

const isCheck = process.argv.includes('--check')
const named = process.argv.slice(2).filter((argument) => argument !== '--check')
const folders = '{src,client,react,console,test,scripts,bench,migrations,examples,bin}'
const files =
  named.length > 0
    ? named
    : globSync([`${folders}/**/*.{ts,tsx,mjs}`, '*.ts'], { cwd: root, exclude: ['**/node_modules/**'] })
for (const name of files) {
  const file = new URL(name, root)
  const source = readFileSync(file, 'utf8')
  const wrapped = wrapAll(source)
  if (!isCheck) {
    if (wrapped !== source) writeFileSync(file, wrapped)
    continue
  }
  for (const [index, text] of source.split('\n').entries()) {
    const hasComment = line.test(text) || /^[^'"`]* \/\/ /.test(text)
    if (!hasComment || text.length <= width) continue
    console.error(`${name}:${index + 1}: the comment is wider than ${width} characters: run \`npm run format\``)
    process.exitCode = 1
  }
}
