import type { Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { createGatedModel, gatedHandle, type GatedModel } from '../support/gated-model.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { openGround, visit, type Ground } from './ground.ts'

const ground = await openGround()

type Role = Parameters<Page['getByRole']>[0]

// The roles and accessible names that clients of the console, such as people's own browser tests, may rely on.
describe.skipIf(!ground)('the roles and names of the console', () => {
  const { open, assertClean } = ground as Ground
  let server: TestApp
  let model: GatedModel
  let talk: Talk
  let origin: string
  let page: Page
  let agent: string
  /** A run that called a tool after it was approved. */
  let run: string

  beforeAll(async () => {
    model = createGatedModel()
    server = await startTestApp({ providers: [model.provider] })
    talk = talkTo(server)
    origin = new URL(server.url).origin
    page = await open(`${origin}/healthz`)
    // Everything that the connection's status says from the beginning.
    await page.addInitScript(`window.said = []; new MutationObserver(() => {
      const status = document.querySelector('[aria-label=Connection]')?.textContent
      if (status && window.said.at(-1) !== status) window.said.push(status)
    }).observe(document, { subtree: true, childList: true, characterData: true })`)
    await page.goto(origin)
    await page.getByRole('status', { name: 'Connection' }).waitFor()
  })
  afterEach(() => assertClean())
  afterAll(async () => {
    await ground?.close()
    await server.stop()
  })

  /** Waits until exactly one element has this role and name, without regard to case and to what else the name has. */
  async function has(within: Page | Locator, ...names: readonly (readonly [Role, string])[]): Promise<void> {
    for (const [role, name] of names) {
      const found = within.getByRole(role, { name })
      await found.first().waitFor()
      await expect.poll(() => found.count(), { message: `${role} "${name}"` }).toBe(1)
    }
  }

  async function addTool(name: string, implementation: object, more: object = {}): Promise<void> {
    const parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] }
    await server.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
      input: { name, parameters, implementation, ...more },
    })
  }

  const log = () => page.getByRole('log', { name: 'Conversation' })
  const article = (name: string) => log().getByRole('article', { name, exact: true })

  test('[CON60] on every page: the navigation, the connection and the theme', async () => {
    const main = page.getByRole('navigation', { name: 'Main' })
    const said = (await page.evaluate('window.said')) as string[]
    expect(said.length).toBeGreaterThan(0)
    expect(said.filter((text) => !['Connected', 'Reconnecting'].includes(text))).toEqual([])
    for (const name of ['Agents', 'Inbox', 'Runs', 'Tools', 'Memory', 'Webhooks', 'Settings']) {
      await main.getByRole('link', { name, exact: true }).click()
      await has(page, ['heading', name])
      await page.getByRole('status', { name: 'Connection' }).getByText('Connected', { exact: true }).waitFor()
      expect(new URL(page.url()).pathname).toBe(`/${name.toLowerCase()}`)
    }
    for (const name of ['System', 'Light', 'Dark']) await has(page, ['radio', name])
    expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0)
  })

  test('[CON60] Agents: an empty state with the demo agent, and a search', async () => {
    await visit(page, '/agents')
    await has(page, ['heading', 'Agents'], ['searchbox', 'Search agents'], ['button', 'New agent'])
    await has(page, ['button', 'Try the demo agent'])
    const source = 'export default ({ to }) => `sent to ${to}`'
    await addTool('send_mail', { javascript: { source } }, { requiresApproval: true, approvalTimeoutMs: 3_600_000 })
    await addTool('look_up', { javascript: { source: 'export default () => "sunny"' } })
    await addTool('ask_browser', { client: true })
    agent = await talk.createAgent({
      name: 'Clerk',
      model: 'demo/scripted',
      instructions: 'Be a clerk.',
      tools: ['send_mail', 'look_up', 'ask_browser'],
      blocks: [{ label: 'human', value: 'Ada' }],
    })
    await page.reload()
    await page.getByRole('link', { name: 'Clerk', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Try the demo agent' }).count()).toBe(0)
    await page.getByRole('main').getByText('demo/scripted').waitFor()
  })

  test('[CON60] New and edited agents: every setting, with errors next to their fields', async () => {
    await page.getByRole('button', { name: 'New agent' }).click()
    await has(page, ['textbox', 'Name'], ['combobox', 'Model'], ['textbox', 'Instructions'], ['button', 'Create agent'])
    await page.getByText('Advanced').click()
    for (const name of ['Tools', 'Memory blocks', 'Tool rules', 'Compaction', 'Sleeptime', 'Model settings'])
      await page.getByRole('group', { name, exact: true }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/agents/new')
    await page.getByRole('button', { name: 'Create agent' }).click()
    const name = page.getByRole('textbox', { name: 'Name' })
    await expect.poll(() => name.getAttribute('aria-invalid')).toBe('true')
    const described = (await name.getAttribute('aria-describedby'))!.split(' ').map((id) => `[id="${id}"]`)
    expect(await page.locator(described.join(',')).allTextContents()).not.toEqual([''])
    await visit(page, `/agents/${agent}/edit`)
    await has(page, ['textbox', 'Name'], ['combobox', 'Model'], ['textbox', 'Instructions'], ['button', 'Save'])
    expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('demo/scripted')
  })

  test('[CON60] Conversation: the log with its articles, the composer, and the context', async () => {
    await visit(page, `/agents/${agent}`)
    await page.waitForURL('**/conversations/*')
    await has(page, ['log', 'Conversation'], ['textbox', 'Message'], ['button', 'Send'], ['button', 'New conversation'])
    await page.getByRole('textbox', { name: 'Message' }).fill('think Hm.\nsay On it.\ncall look_up {"to":"Paris"}')
    await page.getByRole('button', { name: 'Send' }).click()
    await article('Assistant').getByText('look_up returned: sunny').waitFor()
    expect(await article('User').count()).toBe(1)
    expect(await article('Assistant').count()).toBe(2)
    // Folded: its text appears when it is opened.
    await article('Reasoning').waitFor()
    expect(await article('Reasoning').getByText('Hm.').isVisible()).toBe(false)
    const call = article('Tool call: look_up')
    for (const text of ['Paris', 'sunny', 'Succeeded', /^[\d.]+ m?s$/]) await call.getByText(text).waitFor()
    await call.getByText('sunny').click()
    await call.getByLabel('Result').getByText('sunny').waitFor()
    const context = page.getByRole('complementary', { name: 'Context' })
    await has(context, ['meter', 'Tokens in the context'], ['textbox', 'Value'], ['button', 'Save block'])
    await context.getByLabel('System prompt').getByText('Be a clerk.').waitFor()
    await context.getByRole('button', { name: 'Compact now' }).click()
    await article('Summary').waitFor()
    await has(page.getByRole('navigation', { name: 'Conversations' }), ['link', 'Main conversation'])
    await page.setViewportSize({ width: 360, height: 740 })
    await has(page, ['button', 'New conversation'], ['button', 'Send'])
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  test('[CON60] Conversation: an active run can be cancelled, and a failed one retried', async () => {
    const gated = await talk.createAgent({ model: gatedHandle })
    await visit(page, `/agents/${gated}`)
    await page.getByRole('textbox', { name: 'Message' }).fill('go')
    await page.getByRole('button', { name: 'Send' }).click()
    const call = await model.nextCall()
    await has(page, ['button', 'Cancel run'])
    call.fail({ message: 'The model is on strike.' })
    const alert = page.getByRole('alert')
    await alert.getByText('The model is on strike.').waitFor()
    await has(alert, ['button', 'Retry'])
    await expect.poll(() => page.getByRole('button', { name: 'Cancel run' }).count()).toBe(0)
  })

  test('[CON60] Decisions: the same names in the conversation and in the inbox', async () => {
    run = await talk.start(agent, 'call send_mail {"to":"Grace"}')
    await talk.pending(run)
    await visit(page, `/agents/${agent}`)
    const call = article('Tool call: send_mail')
    await decides(call)
    await page.getByRole('link', { name: 'Inbox 1', exact: true }).click()
    const item = page.getByRole('list', { name: 'Waiting for a decision' }).getByRole('listitem')
    expect(await item.count()).toBe(1)
    await has(item, ['heading', 'send_mail'])
    expect(await item.getByRole('link').first().getAttribute('href')).toMatch(/^\/conversations\/conv_/)
    await decides(item)
    await item.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('Nothing is waiting').waitFor()
    await page.getByRole('link', { name: 'Inbox', exact: true }).waitFor()
    await talk.settled(run)

    const client = await talk.start(agent, 'call ask_browser {"to":"x"}')
    await talk.pending(client)
    await has(item, ['heading', 'ask_browser'], ['textbox', 'Result'], ['button', 'Return result'])
    await item.getByRole('textbox', { name: 'Result' }).fill('from a person')
    await item.getByRole('button', { name: 'Return result' }).click()
    await expect.poll(async () => (await talk.run(client)).answer).toContain('from a person')
  })

  /** Opens every form of a call that waits, and closes it again. */
  async function decides(call: Locator): Promise<void> {
    await has(call, ['button', 'Approve'], ['button', 'Deny'], ['button', 'Edit arguments'])
    for (const text of ['Grace', 'needs approval', 'may decide', 'if nobody decides'])
      await call.getByText(text).waitFor()
    await call.getByRole('button', { name: 'Deny' }).click()
    await has(call, ['textbox', 'Reason'], ['button', 'Deny with reason'])
    await call.getByRole('button', { name: 'Back' }).click()
    await call.getByRole('button', { name: 'Edit arguments' }).click()
    await has(call, ['textbox', 'Arguments'], ['button', 'Approve edited'])
    expect(JSON.parse(await call.getByRole('textbox', { name: 'Arguments' }).inputValue())).toEqual({ to: 'Grace' })
    await call.getByRole('button', { name: 'Back' }).click()
  }

  test('[CON60] Runs and a run: filters, the timeline, the events, the replay, and the runs around it', async () => {
    await page.getByRole('link', { name: 'Runs', exact: true }).click()
    const rows = page.getByRole('table', { name: 'Runs' }).getByRole('row')
    // The heading, four of the clerk, one of which is its compaction, and one that failed.
    await expect.poll(() => rows.count()).toBe(6)
    await page.getByLabel('Status').selectOption({ label: 'Failed' })
    await expect.poll(() => rows.count()).toBe(2)
    await page.getByLabel('Status').selectOption('')
    await page.getByLabel('Agent').selectOption({ label: 'Clerk' })
    await expect.poll(() => rows.count()).toBe(5)
    await visit(page, `/runs/${run}`)
    await has(page, ['region', 'Timeline'], ['region', 'Events'], ['slider', 'Replay'])
    for (const text of ['Completed', 'End turn', 'Cost', 'Tokens', 'Waiting for people'])
      await page.getByRole('main').getByText(text).first().waitFor()
    const { createSleeptimeGroup } = await server.data(
      'mutation ($id: ID!) { createSleeptimeGroup(input: { agentId: $id, frequency: 1 }) { group { sleeptimeAgents { id name } } } }',
      { id: agent },
    )
    const parent = await talk.start(agent, 'say something to remember')
    await talk.settled(parent)
    await visit(page, `/runs/${parent}`)
    await page.getByRole('link', { name: createSleeptimeGroup.group.sleeptimeAgents[0].name }).click()
    await page.getByRole('link', { name: 'a run of Clerk' }).click()
    await page.waitForURL(`**/runs/${parent}`)
  })

  test('[CON60] Tools, Memory and Settings', async () => {
    await visit(page, '/tools')
    await has(page, ['table', 'Tools'], ['button', 'New tool'], ['button', 'Add MCP server'])
    await visit(page, '/memory')
    const blocks = page.getByRole('list', { name: 'Blocks' }).getByRole('listitem')
    const block = blocks.filter({ has: page.getByRole('heading', { name: 'human' }) })
    await block.getByRole('link', { name: 'Clerk', exact: true }).waitFor()
    await block.getByText('3 of 20,000 characters').waitFor()
    await has(block, ['textbox', 'Value'], ['button', 'Save block'])
    await server.data('mutation { createApiKey(input: { name: "the app", scopes: [RUN] }) { secret } }')
    await visit(page, '/settings')
    await has(page, ['table', 'API keys'], ['button', 'New key'], ['link', 'GraphiQL'])
    await has(page, ['button', 'Revoke'])
    const { version } = (await import('../../package.json', { with: { type: 'json' } })).default
    await page.getByRole('main').getByText(version).first().waitFor()
    await page.getByRole('table', { name: 'Models' }).getByText('Ready').first().waitFor()
  })

  test('[CON96] a call is decided on the page of its run, and unchanged arguments are approved as the model wrote them', async () => {
    const waiting = await talk.start(agent, 'call send_mail {"to":"Grace"}')
    await talk.pending(waiting)
    await visit(page, `/runs/${waiting}`)
    const call = page.getByRole('article', { name: 'Tool call: send_mail' })
    await decides(call)
    await call.getByRole('button', { name: 'Edit arguments' }).click()
    await call.getByRole('button', { name: 'Approve edited' }).click()
    await call.getByText('Approved by').waitFor()
    expect((await talk.settled(waiting)).steps[0].toolCalls).toMatchObject([
      { status: 'SUCCEEDED', editedArguments: null },
    ])
    // As it was before, there is nothing to decide any more.
    const slider = page.getByRole('slider', { name: 'Replay' })
    while ((await call.getByText('Pending').count()) === 0) await slider.press('ArrowLeft')
    expect(await call.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  })

  test('[CON93] a form saves only what was changed in it, and asks before it replaces what someone else has changed', async () => {
    const id = await talk.createAgent({ name: 'Shared', model: 'demo/scripted', tools: ['look_up'] })
    const toolId = await talk.toolId('look_up')
    const change = (input: object) =>
      server.data('mutation ($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { id } } }', {
        input: { id, ...input },
      })
    const settings = 'name description tools { approvalOverride } modelSettings { temperature maxOutputTokens }'
    const stored = async () => (await server.data(`query ($id: ID!) { agent(id: $id) { ${settings} } }`, { id })).agent
    const save = page.getByRole('button', { name: 'Save', exact: true })
    const name = page.getByRole('textbox', { name: 'Name' })
    const approval = page.getByLabel('Approval of look_up')
    await visit(page, `/agents/${id}/edit`)
    await name.fill('Mine')
    await page.getByText('Advanced').click()
    await page.getByLabel('Temperature').fill('0.5')
    const tools = [{ toolId, approvalOverride: true }]
    await change({ description: 'theirs', tools, modelSettings: { maxOutputTokens: 100 } })
    await save.click()
    await page.waitForURL('**/conversations/*')
    const modelSettings = { temperature: 0.5, maxOutputTokens: 100 }
    const saved = { name: 'Mine', description: 'theirs', tools: [{ approvalOverride: true }], modelSettings }
    expect(await stored()).toEqual(saved)

    await visit(page, `/agents/${id}/edit`)
    await approval.selectOption('Never needs approval')
    await name.fill('Mine again')
    await change({ tools: [] })
    await save.click()
    await page.getByRole('alert').getByText('changed the same fields: Tools and their approval.').waitFor()
    expect(await stored()).toEqual({ ...saved, tools: [] })
    await page.getByRole('button', { name: 'Take theirs' }).click()
    await expect.poll(() => approval.count()).toBe(0)
    // What was typed before a look at another page is compared with what the person saw then.
    await visit(page, '/agents')
    await change({ name: 'Theirs' })
    await visit(page, `/agents/${id}/edit`)
    await expect.poll(() => name.inputValue()).toBe('Mine again')
    await save.click()
    await page.getByRole('alert').getByText('changed the same fields: Name.').waitFor()
    await page.getByRole('button', { name: 'Replace with mine' }).click()
    await page.waitForURL('**/conversations/*')
    expect(await stored()).toEqual({ ...saved, name: 'Mine again', tools: [] })
  })

  test('[CON94] a refused form takes the person to the field that was refused, in its rule or block', async () => {
    await visit(page, `/agents/${agent}/edit`)
    const refusedAt = async (place: Locator, isField = true): Promise<void> => {
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await place.and(page.locator(isField ? '[aria-invalid=true]:focus' : '*')).waitFor()
      expect(await page.locator('[aria-invalid=true]').count()).toBe(Number(isField))
      const { y, height } = (await place.boundingBox())!
      expect(y).toBeGreaterThan(0)
      expect(y + height).toBeLessThan(800)
    }
    const writer = page.getByLabel('Model for summaries')
    await page.getByText('Advanced').click()
    await writer.fill('nonsense')
    await refusedAt(writer)
    await writer.fill('')

    const rule = page.getByRole('group', { name: 'Rule 2' })
    for (const group of [page.getByRole('group', { name: 'Rule 1' }), rule]) {
      await page.getByRole('button', { name: 'Add rule' }).click()
      await group.getByLabel('Tool', { exact: true }).fill('look_up')
    }
    await refusedAt(rule.getByRole('alert'), false)
    await rule.getByRole('combobox', { name: 'Rule' }).selectOption('is limited in number')
    await refusedAt(rule.getByLabel('Calls in one run'))
    await rule.getByLabel('Calls in one run').fill('many')
    await refusedAt(rule.getByLabel('Calls in one run'))

    await rule.getByLabel('Calls in one run').fill('1')
    await page.getByRole('button', { name: 'Add block' }).click()
    const block = page.getByRole('group', { name: 'New block 1' })
    await refusedAt(block.getByLabel('Label'))
    await block.getByLabel('Label').fill('notes')
    await block.getByLabel('Purpose').fill('x'.repeat(10_001))
    await refusedAt(block.getByLabel('Purpose'))
  })
})
