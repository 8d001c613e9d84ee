import { mkdir } from 'node:fs/promises'
import { parseArgs } from 'node:util'

import { createClient, type Client } from '../client/client.ts'
import { SendMessage } from '../client/documents.ts'
import { createDemoAgent } from '../console/data/demo-agent.ts'
import { CreateAgent, Runs } from '../console/data/documents.ts'
import { openBrowser } from '../test/support/browser.ts'
import { startThrowawayServer } from './throwaway-server.ts'

// Takes a picture of every page of the console, in both themes and at two widths.
const { values } = parseArgs({ options: { folder: { type: 'string', default: 'screenshots' } } })

const table = ['say | day | visitors |', 'say |---|---|', 'say | Monday | 1,204 |', 'say | Tuesday | 1,377 |']
const code = ['say ```js', 'say const total = visits.reduce((sum, { count }) => sum + count, 0)', 'say ```']
const messages = [
  'What can you do?',
  [
    'think The numbers are in the table of visits.',
    'say Here are the **visitors** of this week:',
    'say ',
    ...table,
    'say ',
    'say The sum is one line:',
    'say ',
    ...code,
  ].join('\n'),
  'call demo_dice {"sides":20}',
  'fail bad_request',
  'call demo_send_email {"to":"team@example.com","subject":"Visitors of this week"}',
]

const server = await startThrowawayServer()
const opened = await openBrowser()
if (!opened) throw new Error('There is no browser to take pictures with.')
try {
  const origin = new URL(server.url).origin
  const client = createClient({ url: `${origin}/graphql` })
  const { conversation, run } = await fill(client)
  await mkdir(values.folder, { recursive: true })
  const pages = {
    agents: '/agents',
    'new-agent': '/agents/new',
    conversation: `/conversations/${conversation}`,
    inbox: '/inbox',
    runs: '/runs',
    run: `/runs/${run}`,
    tools: '/tools',
    memory: '/memory',
    settings: '/settings',
  }
  for (const width of [1440, 360]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await opened.browser.newContext({
        viewport: { width, height: width > 600 ? 900 : 740 },
        colorScheme,
      })
      const page = await context.newPage()
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(`${origin}${path}`)
        await page.getByRole('status', { name: 'Connection' }).getByText('Connected').waitFor()
        // What a page loads, it loads at once: when nothing is asked for any more, it is all there.
        await page.waitForLoadState('networkidle')
        await page.screenshot({ path: `${values.folder}/${name}-${width}-${colorScheme}.png` })
      }
      await context.close()
    }
  }
} finally {
  await opened.close()
  await server.stop()
}

/** A few agents and runs, one of which failed and one of which waits for a decision. */
async function fill(client: Client): Promise<{ conversation: string; run: string }> {
  const conversation = await createDemoAgent(client)
  for (const name of ['Support desk', 'Release notes'])
    await client.request(CreateAgent, { input: { name, model: 'demo/scripted', instructions: 'Be brief.' } })
  for (const text of messages) {
    await client.request(SendMessage, {
      input: { to: { conversationId: conversation }, messages: [{ text }], waitMs: 30_000 },
    })
  }
  const { runs } = await client.request(Runs, { first: 3 })
  return { conversation, run: runs.nodes.at(-1)!.id }
}
