import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { Kind, parse, print, validate, visit, type DocumentNode, type OperationDefinitionNode } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'

import { schema } from '../../src/graphql/schema.ts'
import { readConfig } from '../../src/config/config.ts'
import { settings } from '../../src/config/settings.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { blocksOf, pages, type Block } from '../support/docs.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

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
      HOLDPOINT_PUBLIC_URL: 'https://hold.example',
    },
  })
})
afterAll(() => app.stop())

/** The newest id of each kind, by prefix, as a reader of the page would have it. */
type Known = Map<string, string>

/** The values of the examples' variables, by name. */
const prefixes: Readonly<Record<string, string>> = {
  agent: 'agent',
  agentId: 'agent',
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
    blocks: [{ label: "shop", value: "" }], tools: [{ toolName: "ask_first" }] })
    { agent { id mainConversation { id } blocks { id } } } }`)
  await run(`mutation { createConversation(input: { agentId: "agent_…" }) { conversation { id } } }`)
  await run(`mutation { sendMessage(input: { to: { conversationId: "conv_…" }, messages: [{ text: "call ask_first {}" }], waitMs: 30000 })
    { ... on SendMessageSuccess { run { id pendingToolCalls { id } } } } }`)
  return known.set('waiting', known.get('run')!)
}

/** A run that waits for a budget, as the newest run. */
async function waitForBudget(known: Known): Promise<void> {
  const run = async (text: string) => remember(known, await app.data(fill(text, known)))
  await run(
    `mutation { createBudget(input: { agentId: "agent_…", period: DAY, limitUsd: 0, whenReached: ASK }) { budget { id } } }`,
  )
  await run(`mutation { createConversation(input: { agentId: "agent_…" }) { conversation { id } } }`)
  await run(`mutation { sendMessage(input: { to: { conversationId: "conv_…" }, messages: [{ text: "hi" }], waitMs: 30000 })
    { ... on SendMessageSuccess { run { id } } } }`)
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
  if (block.text.includes('continueRun')) await waitForBudget(known)
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
  test(`[DCS1] every GraphQL document of ${page} is executed, and every configuration is read`, async () => {
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

/** Programs and commands have tests of their own. */
async function check({ language, text, ...block }: Block, known: Known): Promise<void> {
  if (language === 'graphql') return execute({ language, text, ...block }, known)
  if (language !== 'json' && language !== 'yaml') return
  const parsed = language === 'json' ? JSON.parse(text) : parseYaml(text)
  const file = join(await makeTemporaryFolder(), `config.${language}`)
  await writeFile(file, text)
  const names = { servers: 'HOLDPOINT_MCP', providers: 'HOLDPOINT_PROVIDERS', tenants: 'HOLDPOINT_RETENTION' }
  const variable = Object.entries(names).find(([key]) => parsed[key])?.[1]
  if (variable === undefined) return expect(text).toContain('…')
  // Every variable that a file names is set.
  const given: Record<string, string> = { [variable]: file }
  readConfig(new Proxy(given, { get: (_target, name: string) => given[name] ?? (name in settings ? undefined : 'x') }))
}
