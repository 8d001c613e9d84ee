import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

import { expect, test } from 'vitest'
import { build } from 'vite'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A module as bundled for browsers. */
async function bundle(entry: string, external: string[]): Promise<{ code: string; imports: string[] }> {
  const result = await build({
    configFile: false,
    logLevel: 'error',
    root,
    build: { write: false, lib: { entry, formats: ['es'] }, minify: true, rolldownOptions: { external } },
  })
  const { output } = (Array.isArray(result) ? result[0]! : result) as Extract<typeof result, { output: unknown }>
  const chunks = output.filter((one) => one.type === 'chunk')
  expect(chunks).toHaveLength(1)
  return { code: chunks[0]!.code, imports: chunks[0]!.imports }
}

test('[LIB13] the client is below 10 KB compressed, and needs no package and nothing of Node', async () => {
  const { code, imports } = await bundle('client/index.ts', [])
  expect(imports).toEqual([])
  expect(code).not.toMatch(/\b(process|Buffer|require)\b[.(]/)
  expect(gzipSync(code).length).toBeLessThan(10_000)
})
