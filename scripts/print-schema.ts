import { readFile, writeFile } from 'node:fs/promises'

import { lexicographicSortSchema } from 'graphql'

import { format, resolveConfig } from 'prettier'

import { printedPossibleTypes, printedSchema } from '../src/graphql/printed-schema.ts'
import { schema } from '../src/graphql/schema.ts'
import { settings } from '../src/settings.ts'
import { printDocuments, printSchemaTypes, printTexts } from './typed-documents.ts'

/**
 * Writes the files that are made from the schema and the settings. With `--check`, writes nothing and fails if a file
 * is out of date.
 */
const sorted = lexicographicSortSchema(schema)

const read = (name: string): Promise<string> => readFile(new URL(`../${name}`, import.meta.url), 'utf8')
const prettier = { ...(await resolveConfig(new URL(import.meta.url))), parser: 'typescript' }
const clientDocuments = await read('client/documents.graphql')
const consoleDocuments = await read('console/data/documents.graphql')

/** The table between the two marks in the README. */
function withSettings(readme: string): string {
  const rows = Object.entries(settings).map(
    ([name, { meaning, shownDefault }]) => `| \`${name}\` | ${meaning} | ${shownDefault} |`,
  )
  const table = ['| variable | meaning | default |', '| --- | --- | --- |', ...rows].join('\n')
  return readme.replace(/(<!-- settings -->\n)[^]*?(\n<!-- \/settings -->)/, (_all, start, end) => start + table + end)
}

const files = {
  'client/schema-types.ts': await format(printSchemaTypes(sorted), prettier),
  'client/documents.ts': await format(
    printDocuments(sorted, clientDocuments, { schemaTypes: './schema-types.ts', typedDocument: './typed-document.ts' }),
    prettier,
  ),
  'console/data/documents.ts': await format(
    printDocuments(sorted, consoleDocuments, {
      schemaTypes: '../../client/schema-types.ts',
      typedDocument: '../../client/typed-document.ts',
      shared: clientDocuments,
    }),
    prettier,
  ),
  'src/server/own-documents.ts': await format(
    printTexts(sorted, {
      clientDocuments: { source: clientDocuments },
      consoleDocuments: { source: consoleDocuments, shared: clientDocuments },
    }),
    prettier,
  ),
  'schema.graphql': printedSchema(schema),
  'README.md': await format(withSettings(await read('README.md')), { ...prettier, parser: 'markdown' }),
  'possible-types.json': printedPossibleTypes(schema),
}

for (const [name, text] of Object.entries(files)) {
  const file = new URL(`../${name}`, import.meta.url)
  if (!process.argv.includes('--check')) {
    await writeFile(file, text)
  } else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`${name} is out of date: run \`npm run schema\` and commit the result`)
    process.exitCode = 1
  }
}
