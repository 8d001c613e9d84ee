import { copyFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

import { build } from 'vite'

import { buildDocs } from './build-docs.ts'

/**
 * Builds the console and the documentation, and compresses each file with brotli and gzip so that the server need not.
 */
const folder = fileURLToPath(new URL('../console/', import.meta.url))
const output = join(folder, 'dist')

// Vite takes it from the environment, and with any other value builds React for development.
process.env['NODE_ENV'] = 'production'
await rm(output, { recursive: true, force: true })
await build({ root: folder, configFile: join(folder, 'vite.config.ts'), logLevel: 'warn' })
// The font's licence asks for a copy beside it.
await copyFile(
  fileURLToPath(import.meta.resolve('@fontsource-variable/geist/LICENSE')),
  join(output, 'assets/geist-license.txt'),
)
await buildDocs(join(output, 'docs'), await readFile(join(output, 'index.html'), 'utf8'))

const names = await readdir(output, { recursive: true })
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }
await Promise.all(
  names
    .filter((name) => /\.(js|css|html|svg|json)$/.test(name))
    .map(async (name) => {
      const file = join(output, name)
      const content = await readFile(file)
      await writeFile(`${file}.br`, await promisify(brotliCompress)(content, brotliOptions))
      await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }))
    }),
)
