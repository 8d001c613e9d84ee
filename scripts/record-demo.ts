import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

// Records `npm run demo` and writes docs/demo.svg: the same text at the same times. The start of the server is left
// out, and pauses of more than two seconds are shortened to two.
const longestPauseMs = 2_000
const rows = 24
const columns = 92
const line = 20
const cell = 8.4

interface Piece {
  readonly atMs: number
  readonly row: number
  readonly column: number
  readonly text: string
}

const pieces = place(await record())
const lines = pieces.reduce<string[]>((all, { row, text }) => {
  all[row] = (all[row] ?? '') + text
  return all
}, [])
const totalMs = pieces.at(-1)!.atMs + 6_000
await writeFile(fileURLToPath(new URL('../docs/demo.svg', import.meta.url)), draw())

/** What the demo wrote, and when. */
async function record(): Promise<{ readonly atMs: number; readonly text: string }[]> {
  const demo = spawn(process.execPath, [fileURLToPath(new URL('demo.ts', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const chunks: { readonly atMs: number; readonly text: string }[] = []
  const begun = performance.now()
  demo.stdout.setEncoding('utf8').on('data', (text: string) => chunks.push({ atMs: performance.now() - begun, text }))
  const [code] = await once(demo, 'close')
  if (code !== 0) throw new Error(`The demo ended with ${code}.`)
  return chunks.slice(chunks.findIndex(({ text }) => text.includes('1. ')))
}

/** Gives each piece of text its place on an endless screen. */
function place(chunks: readonly { readonly atMs: number; readonly text: string }[]): Piece[] {
  const placed: Piece[] = []
  let before = chunks[0]!.atMs
  let now = 0
  let row = 0
  let column = 0
  for (const { atMs, text } of chunks) {
    now += Math.min(atMs - before, longestPauseMs)
    before = atMs
    for (const [index, part] of text.split('\n').entries()) {
      if (index > 0) {
        row += 1
        column = 0
      }
      if (part !== '') placed.push({ atMs: Math.max(now, 1), row, column, text: part })
      column += part.length
    }
  }
  return placed
}

function draw(): string {
  const width = Math.round(columns * cell) + 32
  const height = rows * line + 32
  const shown = pieces.map(({ atMs, row, column, text }) => {
    const place = `x="${(column * cell).toFixed(1)}" y="${(row + 1) * line}" textLength="${(text.length * cell).toFixed(1)}"`
    return `<text ${place} fill="${colorOf(lines[row]!)}">${escape(text)}${animate('opacity', [0, 1], [0, atMs])}</text>`
  })
  // The screen moves up with every line that would be below it.
  const moves = pieces.filter(({ row }, index) => row >= rows && row > pieces[index - 1]!.row)
  const scroll = animate(
    'y',
    [0, ...moves.map(({ row }) => -(row - rows + 1) * line)],
    [0, ...moves.map(({ atMs }) => atMs)],
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">
<title>A recording of npm run demo</title>
<rect width="100%" height="100%" rx="8" fill="#171513"/>
<svg x="16" y="12" width="${width - 32}" height="${height - 24}"><svg overflow="visible">${scroll}
${shown.join('\n')}
</svg></svg>
</svg>
`
}

/** Takes each value at its time, and begins again when the recording is over. */
function animate(attribute: string, values: readonly number[], times: readonly number[]): string {
  const keyTimes = times.map((ms) => (ms / totalMs).toFixed(4)).join(';')
  const repeated = `dur="${(totalMs / 1000).toFixed(1)}s" repeatCount="indefinite"`
  return `<animate attributeName="${attribute}" calcMode="discrete" values="${values.join(';')}" keyTimes="${keyTimes}" ${repeated}/>`
}

/** The colors of the demo in a terminal, by the mark of the line. */
function colorOf(text: string): string {
  if (/^\d\. /.test(text)) return '#ffffff'
  if (text.includes('⏸') || text.includes('approve?')) return '#f1c063'
  if (text.trimStart().startsWith('✓')) return '#8ccf90'
  if (/^\s*[✗■]/.test(text)) return '#f5958c'
  return text.startsWith('  you') ? '#aba397' : '#ece8e1'
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll(' ', '\u00a0')
}
