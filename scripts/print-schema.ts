import { readFile, writeFile } from 'node:fs/promises'

import { lexicographicSortSchema, printSchema } from 'graphql'

import { schema } from '../src/graphql/schema.ts'

/** Writes schema.graphql; with `--check`, only says whether it is what the code makes. */
const file = new URL('../schema.graphql', import.meta.url)
const text = `${printSchema(lexicographicSortSchema(schema))}\n`

if (process.argv.includes('--check')) {
  const stored = await readFile(file, 'utf8').catch(() => '')
  if (stored !== text) {
    console.error('schema.graphql is not what the code makes: run `npm run schema` and commit the result')
    process.exitCode = 1
  }
} else {
  await writeFile(file, text)
}
