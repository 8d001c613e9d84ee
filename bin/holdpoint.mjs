#!/usr/bin/env node
// Plain JavaScript, so that an older Node can say what is wrong instead of stumbling over TypeScript.
import { existsSync } from 'node:fs'

const source = new URL('../src/main.ts', import.meta.url)
const isClone = existsSync(source)
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  const remedy = isClone
    ? 'run "npm ci" with install scripts allowed, which brings Node 24 along, and then "npm start"'
    : 'install a newer Node and try again'
  process.stderr.write(`holdpoint: Node ${process.versions.node} is too old, 22.18 or later is needed: ${remedy}.\n`)
  process.exitCode = 1
} else {
  // Libraries check less then. graphql-js, for example, no longer looks for a second copy of itself at every value.
  process.env.NODE_ENV ??= 'production'
  // The second start finds the source compiled: it takes half as long.
  const { enableCompileCache } = await import('node:module')
  enableCompileCache()
  await import(isClone ? source.href : new URL('../dist/src/main.js', import.meta.url).href)
}
