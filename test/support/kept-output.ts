import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the test run keeps what its servers write, and the secrets that must not be in it. */
    outputFolder: string
  }
}

/** Every secret that a test plants contains this. */
export const plantedMark = 'PLANTED'

/** Keeps what a server of a test has written to its log. */
export function keepOutput(text: string | Buffer): void {
  appendFileSync(join(inject('outputFolder'), `${process.pid}.log`), text)
}

/** Remembers a key or token that a test's client has sent. */
export function keepSecret(authorization: string): void {
  const secret = authorization.replace(/^Bearer /, '')
  // Shorter ones are words such as "good".
  if (secret.length >= 8) appendFileSync(join(inject('outputFolder'), `${process.pid}.secrets`), `${secret}\n`)
}

/** Secrets that servers make by themselves: they sign calls of tools, and tokens. */
const made = /hp[st]_[0-9a-f]{64}/

/** The lines of all servers of the test run that have a secret in them. */
export function findLeaks(folder: string): string[] {
  const files = readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
  const sent = files.filter(({ name }) => name.endsWith('.secrets')).flatMap(({ text }) => text.trim().split('\n'))
  const secrets = [plantedMark, ...new Set(sent)]
  return files
    .filter(({ name, text }) => name.endsWith('.log') && (made.test(text) || secrets.some((one) => text.includes(one))))
    .flatMap(({ text }) => text.split('\n'))
    .filter((line) => made.test(line) || secrets.some((one) => line.includes(one)))
}
