import { mkdir } from 'node:fs/promises'
import { parseArgs } from 'node:util'

import type { Page } from 'playwright-core'

import { createClient, type Client } from '../client/client.ts'
import { Regenerate, SendMessage, SubmitApprovals } from '../client/documents.ts'
import { createDemoAgent } from '../console/data/demo-agent.ts'
import { CreateAgent, Runs, UpdateAgent } from '../console/data/documents.ts'
import { openBrowser } from '../test/support/browser.ts'
import { startThrowawayServer } from './throwaway-server.ts'

// Takes a picture of every page of the console, in both themes and at two widths.
const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: 'screenshots' },
    /** Only the pages whose name contains this. */
    only: { type: 'string', default: '' },
    widths: { type: 'string', default: '1440,360' },
    themes: { type: 'string', default: 'light,dark' },
    /** Before anything is created, so that every page shows its empty state. */
    empty: { type: 'boolean', default: false },
  },
})

const table = ['say | day | visitors |', 'say |---|---|', 'say | Monday | 1,204 |', 'say | Tuesday | 1,377 |']
const code = ['say ```js', 'say const total = visits.reduce((sum, { count }) => sum + count, 0)', 'say ```']
const messages = [
  'What can you do?',
  [
    'slow 3',
    'think The numbers are in the table of visits. I will show them by day, and how to add them up.',
    'say Here are the **visitors** of this week:',
    'say ',
    ...table,
    'say ',
    'say The sum is one line:',
    'say ',
    ...code,
  ].join('\n'),
  'slow 20\nsay Rolling a die with twenty sides.\ncall demo_dice {"sides":20}',
  'fail bad_request',
  'call demo_send_email {"to":"team@example.com","subject":"Visitors of this week"}',
]

const server = await startThrowawayServer()
const opened = await openBrowser()
if (!opened) throw new Error('There is no browser to take screenshots with.')
try {
  const origin = new URL(server.url).origin
  const client = createClient({ url: `${origin}/graphql` })
  const { conversation, run } = values.empty ? { conversation: '', run: '' } : await fill(client)
  await mkdir(values.folder, { recursive: true })
  const pages = {
    agents: '/agents',
    'new-agent': '/agents/new',
    ...(conversation && { conversation: `/conversations/${conversation}` }),
    inbox: '/inbox',
    runs: '/runs',
    ...(run && { run: `/runs/${run}` }),
    tools: '/tools',
    memory: '/memory',
    settings: '/settings',
  }
  for (const width of values.widths.split(',').map(Number)) {
    for (const colorScheme of values.themes.split(',') as ('light' | 'dark')[]) {
      const viewport = { width, height: width > 600 ? 900 : 740 }
      const context = await opened.browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
      const page = await context.newPage()
      const wanted = Object.entries(pages).filter(([name]) => name.includes(values.only))
      for (const [name, path] of wanted) {
        await show(page, `${origin}${path}`)
        await page.screenshot({ path: `${values.folder}/${name}-${width}-${colorScheme}.png` })
      }
      await context.close()
    }
  }
} finally {
  await opened.close()
  await server.stop()
}

async function show(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByRole('status', { name: 'Connection' }).getByText('Connected').waitFor()
  // A page loads everything at once, so when no request is open, it is complete.
  await page.waitForLoadState('networkidle')
  // The run page is about steps, so one of them is opened.
  if (!url.includes('/runs/')) return
  await page.getByRole('region', { name: 'Timeline' }).getByText('Step 1').click()
  await page.waitForLoadState('networkidle')
}

/** A few agents and runs: one failed, one was approved, and one waits for a decision. */
async function fill(client: Client): Promise<{ conversation: string; run: string }> {
  const conversation = await createDemoAgent(client)
  const others = [
    ['Support desk', 'Answers questions of customers and asks a person before it refunds anything.'],
    ['Release notes', 'Turns merged changes into notes that people want to read.'],
  ] as const
  for (const [name, description] of others)
    await client.request(CreateAgent, { input: { name, description, model: 'demo/scripted', keepRequests: true } })
  const send = (text: string) =>
    client.request(SendMessage, {
      input: { to: { conversationId: conversation }, messages: [{ text }], waitMs: 30_000 },
    })
  const latest = async () => (await client.request(Runs, { first: 1 })).runs.nodes[0]!
  await client.request(UpdateAgent, { input: { id: await agentOf(client), keepRequests: true } })
  await send(
    'slow 15\nthink A person has to agree first.\nsay I will ask for that.\ncall demo_dice {"sides":6}\ncall demo_send_email {"to":"grace@example.com","subject":"The report is ready"}',
  )
  const run = (await latest()).id
  await new Promise((resolve) => setTimeout(resolve, 700))
  await approveAll(client, run)
  for (const text of messages) {
    await send(text)
    if (text.includes('**visitors**')) {
      const input = { runId: (await latest()).id, waitMs: 30_000 }
      await client.request(Regenerate, { input })
    }
  }
  return { conversation, run }
}

async function agentOf(client: Client): Promise<string> {
  const { agents } = await client.request<{ agents: { nodes: { id: string }[] } }, object>(
    'query { agents(first: 1) { nodes { id } } }',
    {},
  )
  return agents.nodes[0]!.id
}

async function approveAll(client: Client, runId: string): Promise<void> {
  const { run } = await client.request<{ run: { pendingToolCalls: { id: string }[] } }, object>(
    'query ($id: ID!) { run(id: $id) { pendingToolCalls { id } } }',
    { id: runId },
  )
  const decisions = run.pendingToolCalls.map(({ id }) => ({ approve: { toolCallId: id } }))
  await client.request(SubmitApprovals, { input: { runId, decisions, waitMs: 30_000 } })
}
