import { readFile, writeFile } from 'node:fs/promises'

import { isAbstractType, lexicographicSortSchema, printSchema } from 'graphql'

import { schema } from '../src/graphql/schema.ts'

/** Writes what is made from the schema; with `--check`, only says whether it is what the code makes. */
const sorted = lexicographicSortSchema(schema)

/** What implements each interface and belongs to each union, as Apollo Client's cache wants to be told. */
const possibleTypes = Object.values(sorted.getTypeMap())
  .filter(isAbstractType)
  .map((type) => [type.name, sorted.getPossibleTypes(type).map(({ name }) => name)])

const files = {
  'schema.graphql': `${printSchema(sorted)}\n`,
  'possible-types.json': `${JSON.stringify(Object.fromEntries(possibleTypes), null, 2)}\n`,
}

for (const [name, text] of Object.entries(files)) {
  const file = new URL(`../${name}`, import.meta.url)
  if (!process.argv.includes('--check')) {
    await writeFile(file, text)
  } else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`${name} is not what the code makes: run \`npm run schema\` and commit the result`)
    process.exitCode = 1
  }
}
