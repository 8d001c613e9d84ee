import { createInterface } from 'node:readline/promises'

const { stdin, stdout } = process
/** NO_COLOR counts if it is not empty: https://no-color.org. */
const hasColors = stdout.isTTY && !process.env['NO_COLOR']
const paint = (code: number) => (text: string) => (hasColors ? `\u001b[${code}m${text}\u001b[0m` : text)

export const bold = paint(1)
export const dim = paint(2)
export const red = paint(31)
export const green = paint(32)
export const yellow = paint(33)
export const cyan = paint(36)

const indent = ' '.repeat(8)
let scenes = 0
/** The content of the line that is being written. Empty between lines. */
let written = ''

export function print(text = ''): void {
  endLine()
  console.log(text)
}

/** `operations` are the API operations that the scene uses. */
export function title(text: string, operations: string): void {
  scenes += 1
  print(`\n${bold(`${scenes}. ${text}`)}  ${dim(operations)}`)
}

export function speak(name: string, text: string): void {
  print(label(name) + text)
}

/**
 * Shows `text`, which begins at `offset` of what Ada is saying. What is already on the screen, because a restarted step
 * says the same again, is not written twice.
 */
export function type(text: string, offset: number): void {
  if (!(written + text).startsWith(written.slice(0, offset) + text.slice(0, written.length - offset))) endLine()
  if (written === '') stdout.write(cyan(label('Ada')))
  const news = text.slice(Math.max(0, written.length - offset))
  written += news
  stdout.write(news.replaceAll('\n', `\n${indent}`))
}

/** A remark in the middle of a text. */
export function interject(text: string): void {
  stdout.write(text)
}

export function endLine(): void {
  if (written !== '') stdout.write('\n')
  written = ''
}

/** Asks the person at the terminal. If there is none, it gives the answer itself and shows it. */
export async function ask(question: string, automatic: string): Promise<string> {
  endLine()
  const prompt = indent + yellow(question) + ' '
  if (!stdin.isTTY || !stdout.isTTY) {
    console.log(prompt + automatic)
    return automatic
  }
  const reader = createInterface({ input: stdin, output: stdout })
  // While a line is read, the terminal sends no signal for Ctrl-C.
  reader.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const closed = new Promise<string>((resolve) => reader.once('close', () => resolve(automatic)))
  const answer = await Promise.race([reader.question(prompt), closed])
  reader.close()
  return answer.trim()
}

function label(name: string): string {
  return `  ${name.padEnd(indent.length - 2)}`
}
