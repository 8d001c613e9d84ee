import { readFile, writeFile } from 'node:fs/promises'

import { buildSchema, lexicographicSortSchema } from 'graphql'

import { format, resolveConfig } from 'prettier'

import { printedPossibleTypes, printedSchema } from '../src/graphql/printed-schema.ts'
import { schema } from '../src/graphql/schema.ts'
import { printedSubgraph } from '../src/graphql/subgraph.ts'
import { chapters } from '../src/config/settings.ts'
import { findSchemaProblems } from './schema-policy.ts'
import { printDocuments, printSchemaTypes, printTexts } from './typed-documents.ts'

/**
 * Writes the files that are made from the schema and the settings. With `--check`, writes nothing and fails if a file
 * is out of date, or if the schema breaks what docs/compatibility.md promises. With `--release`, also keeps the schema as
 * the one that later ones are compared with.
 */
const sorted = lexicographicSortSchema(schema)

const read = (name: string): Promise<string> => readFile(new URL(`../${name}`, import.meta.url), 'utf8')
const prettier = { ...(await resolveConfig(new URL(import.meta.url))), parser: 'typescript' }
const clientDocuments = await read('client/documents.graphql')
const consoleDocuments = await read('console/data/documents.graphql')

/** The chapters between the two marks of the page. */
function withSettings(page: string): string {
  const written = Object.entries(chapters).map(([title, settings]) => {
    const rows = Object.entries(settings).map(
      ([name, { meaning, shownDefault }]) => `| \`${name}\` | ${meaning} | ${shownDefault} |`,
    )
    return [`## ${title}`, '', '| variable | meaning | default |', '| --- | --- | --- |', ...rows].join('\n')
  })
  return page.replace(
    /(<!-- settings -->\n)[^]*?(<!-- \/settings -->)/,
    (_all, start, end) => `${start}\n${written.join('\n\n')}\n\n${end}`,
  )
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
      shared: { source: clientDocuments, from: '../../client/documents.ts' },
    }),
    prettier,
  ),
  'src/server/limits/own-documents.ts': await format(
    printTexts({
      clientDocuments: { source: clientDocuments },
      consoleDocuments: { source: consoleDocuments, shared: clientDocuments },
    }),
    prettier,
  ),
  'schema.graphql': printedSchema(schema),
  'subgraph.graphql': printedSubgraph(schema),
  'docs/configuration.md': await format(withSettings(await read('docs/configuration.md')), {
    ...prettier,
    parser: 'markdown',
  }),
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

const releasedName = 'scripts/released-schema.graphql'
if (process.argv.includes('--release'))
  await writeFile(new URL(`../${releasedName}`, import.meta.url), printedSchema(schema))

const released = await read(releasedName).catch(() => undefined)
const policy = { current: schema, released: released === undefined ? undefined : buildSchema(released) }
for (const problem of findSchemaProblems({ ...policy, changelog: await read('CHANGELOG.md') })) {
  console.error(problem)
  process.exitCode = 1
}
