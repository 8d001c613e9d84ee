import { readdir, readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { Script } from 'node:vm'

import { Kind, parse, print, validate, visit, type DocumentNode, type OperationDefinitionNode } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'

import { schema } from '../../src/graphql/schema.ts'
import { startTestApp, type TestApp } from '../support/app.ts'

/** A fenced block of a page. */
interface Block {
  readonly language: string
  readonly text: string
  readonly line: number
}

const root = new URL('../../', import.meta.url)
const pages = [
  'README.md',
  ...(await readdir(new URL('docs/', root))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
]

async function blocksOf(page: string): Promise<Block[]> {
  const lines = (await readFile(new URL(page, root), 'utf8')).split('\n')
  const blocks: Block[] = []
  let open: { language: string; from: number } | undefined
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith('```')) continue
    if (!open) open = { language: line.slice(3).trim(), from: index + 1 }
    else {
      blocks.push({ language: open.language, text: lines.slice(open.from, index).join('\n'), line: open.from })
      open = undefined
    }
  }
  return blocks
}

let app: TestApp
beforeAll(async () => {
  // Keys, so that agents can use these models. Nothing listens at the addresses.
  const nowhere = 'http://127.0.0.1:9'
  app = await startTestApp({
    env: {
      OPENAI_API_KEY: 'test',
      OPENAI_BASE_URL: nowhere,
      ANTHROPIC_API_KEY: 'test',
      ANTHROPIC_BASE_URL: nowhere,
    },
  })
})
afterAll(() => app.stop())

/** The newest id of each kind, by prefix, as a reader of the page would have it. */
type Known = Map<string, string>

/** The values of the examples' variables, by name. */
const prefixes: Readonly<Record<string, string>> = {
  agent: 'agent',
  run: 'run',
  call: 'call',
  conversation: 'conv',
  tool: 'tool',
  block: 'block',
  message: 'msg',
}

/** An agent with a block, a tool that asks first, and a conversation whose run waits for approval. */
async function prepare(): Promise<Known> {
  const known: Known = new Map()
  const run = async (text: string) => remember(known, await app.data(fill(text, known)))
  await run(`mutation { upsertTool(input: { name: "ask_first", description: "", requiresApproval: true,
    parameters: { type: "object" }, implementation: { javascript: { source: "export default () => 'done'" } } }) { tool { id } } }`)
  await run(`mutation { createAgent(input: { name: "Documented", model: "demo/scripted",
    blocks: [{ label: "shop", value: "" }], tools: [{ toolId: "tool_…" }] })
    { agent { id mainConversation { id } blocks { id } } } }`)
  await run(`mutation { createConversation(input: { agentId: "agent_…" }) { conversation { id } } }`)
  await run(`mutation { sendMessage(input: { to: { conversationId: "conv_…" }, messages: [{ text: "call ask_first {}" }], waitMs: 30000 })
    { ... on SendMessageSuccess { run { id pendingToolCalls { id } } } } }`)
  return known.set('waiting', known.get('run')!)
}

/** Replaces `agent_…` and the like by the newest id of that kind. */
function fill(text: string, known: Known): string {
  return text.replaceAll(/"([a-z]+)_…"/g, (_, prefix: string) =>
    JSON.stringify(known.get(prefix) ?? `${prefix}_missing`),
  )
}

function remember(known: Known, value: unknown): void {
  if (typeof value === 'string') {
    const [, prefix] = /^([a-z]+)_[0-9a-f]{32}(?:_[0-9a-f]{32})?$/.exec(value) ?? []
    if (prefix) known.set(prefix, value)
  } else if (typeof value === 'object' && value !== null) {
    if ('lastCursor' in value) known.set('cursor', value.lastCursor as string)
    for (const member of Object.values(value)) remember(known, member)
  }
}

/** Adds `__typename` to every object, so that a refusal can be told from a success. */
function withTypenames(document: DocumentNode): DocumentNode {
  return visit(document, {
    SelectionSet: (set, _key, parent) => {
      const isRoot = !Array.isArray(parent) && (parent as { kind?: Kind }).kind === Kind.OPERATION_DEFINITION
      if (isRoot) return undefined
      const typename = { kind: Kind.FIELD, name: { kind: Kind.NAME, value: '__typename' } } as const
      return { ...set, selections: [...set.selections, typename] }
    },
  })
}

function refusalsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { __typename: type, message } = value as { __typename?: string; message?: string }
  const own = type?.endsWith('Refusal') ? [`${type}: ${message}`] : []
  return [...own, ...Object.values(value).flatMap(refusalsIn)]
}

async function execute(block: Block, known: Known): Promise<void> {
  const text = fill(block.text, known)
  const document = parse(text)
  expect(validate(schema, document)).toEqual([])
  const operation = document.definitions.find(
    (definition): definition is OperationDefinitionNode => definition.kind === Kind.OPERATION_DEFINITION,
  )
  if (!operation) return
  const variables: Record<string, string> = {}
  const names = (operation.variableDefinitions ?? []).map(({ variable }) => variable.name.value)
  const needsCursor = operation.variableDefinitions?.some(({ type }) => print(type) === 'EventCursor!')
  if (needsCursor) variables['after'] = known.get('cursor')!
  for (const name of names) {
    // A decision is about the run that waits, not about the newest one.
    const id = name === 'run' && names.includes('call') ? known.get('waiting') : known.get(prefixes[name] ?? '')
    if (id) variables[name] = id
  }
  const source = print(withTypenames(document))
  if (operation.operation === 'subscription') {
    const events = await app.events(source, variables)
    // A stream that starts at the end waits for the next event.
    if (needsCursor)
      await app.data(fill('mutation { cancelRun(input: { conversationId: "conv_…" }) { __typename } }', known))
    const first = await events.next()
    events.close()
    expect(first?.errors).toBeUndefined()
    return
  }
  const { data, errors } = await app.request(source, variables)
  expect(errors).toBeUndefined()
  expect(refusalsIn(data)).toEqual([])
  remember(known, data)
}

for (const page of pages) {
  test(`[DCS1] every example of ${page} is valid, and every GraphQL document is executed`, async () => {
    const known = await prepare()
    for (const block of await blocksOf(page)) {
      try {
        await check(block, known)
      } catch (error) {
        throw new Error(`${page}, line ${block.line}: ${String(error)}\n${block.text}`, { cause: error })
      }
    }
  })
}

/** Code is only parsed, because it needs the reader's environment. Commands are run by the test of the README. */
async function check(block: Block, known: Known): Promise<void> {
  switch (block.language) {
    case 'graphql':
      return execute(block, known)
    case 'json':
      return void JSON.parse(block.text)
    case 'yaml':
      return void parseYaml(block.text)
    case 'ts':
    case 'tsx':
    case 'js':
    case 'jsx':
      return checkSyntax(block)
    default:
  }
}

function checkSyntax({ language, text }: Block): void {
  // Node cannot parse JSX.
  if (language.endsWith('x')) return
  const plain = language === 'ts' ? stripTypeScriptTypes(text) : text
  const body = plain
    .replaceAll(/^import .*$/gm, '')
    .replaceAll(/^export default /gm, 'const exported = ')
    .replaceAll(/^export /gm, '')
  new Script(`async () => {${body}\n}`)
}
