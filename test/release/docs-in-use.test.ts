import { readFile } from 'node:fs/promises'

import { isScalarType, isSpecifiedScalarType } from 'graphql'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, expectTypeOf, test } from 'vitest'

import { createClient } from '../../client/client.ts'
import { schema } from '../../src/graphql/schema.ts'
import { HoldpointProvider, useConversation, useInbox, useRun } from '../../react/index.ts'
import { startTestApp } from '../support/app.ts'

const readPage = (name: string) => readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8')

test.each([
  ['useConversation', () => useConversation('conv_1')],
  ['useInbox', () => useInbox()],
  ['useRun', () => useRun('run_1')],
])('[DCS61] docs/react.md has everything that %s returns', async (name, hook) => {
  const [, section] = (await readPage('react.md')).split(/^## What each hook returns$/m)
  const rows = section!
    .split(`\n\`${name}(`)[1]!
    .split('\n`use')[0]!
    .match(/^\| `.*?\|/gm)!
  let fields: string[] = []
  const See = () => ((fields = Object.keys(hook())), null)
  const client = createClient({ url: 'http://127.0.0.1:9/graphql' })
  renderToString(createElement(HoldpointProvider, { client }, createElement(See)))
  expect(rows.flatMap((row) => [...row.matchAll(/`(\w+)/g)].map(([, field]) => field)).toSorted()).toEqual(
    fields.toSorted(),
  )
})

test('[DCS62] docs/clients.md names the scalars of the schema for generated types, and the client takes documents that are typed so', async () => {
  const [, scalars] = /^const scalars = \{(.*)\}$/m.exec(await readPage('clients.md'))!
  const own = Object.values(schema.getTypeMap()).filter((type) => isScalarType(type) && !isSpecifiedScalarType(type))
  expect([...scalars!.matchAll(/(\w+):/g)].map(([, name]) => name)).toEqual(own.map(({ name }) => name).toSorted())

  // What `toString()` of a document returns with `documentMode: 'string'`.
  const document = 'query Agents { agents(first: 10) { totalCount } }' as string & {
    __apiType?: (variables: { [name: string]: never }) => { agents: { totalCount: number } }
  }
  const app = await startTestApp()
  const answer = await createClient({ url: app.url }).request(document, {})
  await app.stop()
  expectTypeOf(answer).toEqualTypeOf<{ agents: { totalCount: number } }>()
  expect(answer).toEqual({ agents: { totalCount: 0 } })
})
