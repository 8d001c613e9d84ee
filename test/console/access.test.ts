import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { startTestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { spawnMain, type ServerProcess } from '../support/server-process.ts'
import { openGround, seriousFaults, visit, type Ground } from './ground.ts'
import { changesOf, replay } from './replay.ts'

const ground = await openGround()

/** Each test continues where the one before it ended. */
describe.skipIf(!ground)('the console of a server with keys that is killed', () => {
  const { open, assertClean } = ground as Ground
  let database: OpenDatabase
  let server: ServerProcess | undefined
  let origin: string
  let page: Page

  async function start(port = '0'): Promise<void> {
    const env = { DATABASE_URL: database.url, LOG_LEVEL: 'fatal', HOLDPOINT_API_KEY: 'hp_owner', PORT: port }
    server = spawnMain([], env)
    origin = new URL(await server.ready()).origin
  }

  beforeAll(async () => {
    database = await createTestDatabase()
    await start()
    page = await open(origin)
  })
  afterEach(() => assertClean())
  afterAll(async () => {
    await ground?.close()
    server?.child.kill('SIGTERM')
    await server?.ended
    await database.close()
  })

  async function ask(key: string, query: string, variables: object = {}): Promise<any> {
    const response = await fetch(`${origin}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ query, variables }),
    })
    return response.json()
  }

  async function data(query: string, variables?: object): Promise<any> {
    const answer = await ask('hp_owner', query, variables)
    expect(answer.errors).toBeUndefined()
    return answer.data
  }

  /** Makes an agent with these tools, and returns its id. */
  async function createAgent(name: string, tools: readonly object[]): Promise<string> {
    const ids: { toolId: string }[] = []
    for (const input of tools) {
      const { upsertTool } = await data(
        'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }',
        { input: { parameters: { type: 'object' }, ...input } },
      )
      ids.push({ toolId: upsertTool.tool.id })
    }
    const made = await data('mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }', {
      input: { name, model: 'demo/scripted', tools: ids },
    })
    return made.createAgent.agent.id
  }

  const javascript = { implementation: { javascript: { source: "export default () => 'paid'" } } }

  test('[CON12] a wrong key gets a message in place, and a right one is kept across a reload', async () => {
    await page.getByLabel('API key').fill('hp_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('does not accept this key').waitFor()
    expect(await seriousFaults(page)).toEqual([])
    await page.getByLabel('API key').fill('hp_owner')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
  })

  let run: string

  test('[CON12] [CON87] [CON161] a server that is killed in mid-answer and started again is followed without a gap or a repetition', async () => {
    const agent = await createAgent('Clerk', [
      { name: 'pay', requiresApproval: true, ...javascript },
      { name: 'sign', requiresApproval: true, ...javascript },
      { name: 'ask_browser', implementation: { client: true } },
    ])
    await visit(page, `/agents/${agent}`)
    const connection = page.getByRole('status', { name: 'Connection' })
    // Opened before the answer begins: on a busy machine, opening a page takes longer than the answer.
    const other = await page.context().newPage()
    await other.goto(`${origin}/agents`)
    await other.getByRole('heading', { name: 'Agents' }).waitFor()
    const words = Array.from({ length: 80 }, (_, index) => `word${index}`).join(' ')
    const calls = ['pay', 'sign', 'ask_browser'].map((name) => `call ${name} {}`).join('\n')
    await page.getByRole('textbox', { name: 'Message' }).fill(`slow 30\nsay ${words}\n${calls}`)
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const answer = page.getByRole('log').getByRole('article', { name: 'Assistant' })
    await answer.getByText('word3').waitFor()
    server!.child.kill('SIGKILL')
    await connection.getByText('Reconnecting').waitFor()
    await server!.ended
    await other.getByText('The connection is lost').waitFor()
    await other.getByRole('link', { name: 'Inbox' }).click()
    await other.getByText('Nothing was waiting when the connection was lost').waitFor()
    expect(await seriousFaults(other)).toEqual([])
    // A network that swallows what is sent: these requests are never answered.
    let isSwallowed = true
    await other.route('**/graphql', (route) => (isSwallowed ? undefined : route.continue()))
    await other.getByRole('link', { name: 'Budgets' }).click()
    await other.getByRole('status', { name: 'Loading' }).waitFor()
    isSwallowed = false
    await start(new URL(origin).port)
    await other.getByText('There are no budgets yet').waitFor()
    expect(await other.getByText('The connection is lost').count()).toBe(0)
    await other.getByRole('link', { name: 'Memory' }).click()
    await connection.getByText('Connected').waitFor()
    await answer.getByText('word79').waitFor()
    expect((await answer.locator('.markdown').textContent())?.trim()).toBe(words)
    await other.getByRole('heading', { name: 'Memory' }).waitFor()
    await other.close()
    expect(await answer.count()).toBe(1)
    run = (await data('{ runs(first: 1) { nodes { id } } }')).runs.nodes[0].id
  })

  test('[CON80] the page of a run with a restarted step, a denial, a client tool and a cancel tells them apart, and its replay shows what a watcher saw', async () => {
    const call = (name: string) => page.getByRole('article', { name: `Tool call: ${name}` })
    await call('pay').getByRole('button', { name: 'Deny' }).click()
    await call('pay').getByRole('textbox', { name: 'Reason' }).fill('too dear')
    await call('pay').getByRole('button', { name: 'Deny with reason' }).click()
    await call('pay').getByText('“too dear”').waitFor()
    await call('ask_browser').getByRole('textbox', { name: 'Result' }).fill('blue')
    await call('ask_browser').getByRole('button', { name: 'Return result' }).click()
    await call('ask_browser').getByText('Answered by').waitFor()
    await page.getByRole('button', { name: 'Cancel run' }).click()
    const end = page.locator('.turn-end').filter({ hasText: 'Cancelled' })
    await end.getByRole('link', { name: 'waiting' }).click()

    const timeline = page.getByRole('region', { name: 'Timeline' })
    const legend = timeline.getByRole('list', { name: 'Where the time went' })
    const { run: times } = await data('query ($id: ID!) { run(id: $id) { createdAt startedAt } }', { id: run })
    // A run that was taken up within the millisecond of its creation spent no time in the queue.
    for (const name of [
      ...(times.startedAt === times.createdAt ? [] : ['Queue']),
      ...['Model writing', 'Waiting for people', 'Waiting for a client'],
    ])
      await legend.getByText(name).waitFor()
    const step = timeline.getByRole('list', { name: 'Steps' }).getByRole('listitem').first()
    for (const text of ['Attempt 2', 'Cancelled']) await step.getByText(text).first().waitFor()
    await step.getByText('Step 1').click()
    await step.getByText('“too dear”').waitFor()
    expect(await step.getByLabel('Result of ask_browser').textContent()).toBe('blue')
    await page.getByRole('region', { name: 'Events' }).getByText('StepRestarted').waitFor()

    await page.getByRole('region', { name: 'Replay of the run' }).locator('> header').getByText('Cancelled').waitFor()
    const moments = await replay(page)
    const statuses = moments.map((moment) => moment.run)
    expect(changesOf(statuses)).toEqual(
      ['', 'Queued', 'Running', 'Awaiting approval', 'Cancelling', 'Cancelled'].filter((one) => statuses.includes(one)),
    )
    const seen = (name: string): string[] => changesOf(moments.map(({ calls }) => calls[name] ?? 'none'))
    expect(seen('pay')).toEqual(['none', 'Pending', 'Denied'])
    expect(seen('ask_browser')).toEqual(['none', 'Pending', 'Succeeded'])
    expect(seen('sign')).toEqual(['none', 'Pending', 'Cancelled'])
    // The same run, watched from its first event through the API.
    expect(moments.at(-1)).toEqual({
      run: 'Cancelled',
      calls: { pay: 'Denied', sign: 'Cancelled', ask_browser: 'Succeeded' },
    })
    expect((await data('query ($id: ID!) { run(id: $id) { status } }', { id: run })).run.status).toBe('CANCELLED')
  })

  test('[CON91] a new tool replaces no other tool, and an edited one keeps what someone else saved meanwhile', async () => {
    await page.getByRole('link', { name: 'Tools' }).click()
    await page.getByRole('button', { name: 'New tool' }).click()
    const dialog = page.getByRole('dialog')
    const create = dialog.getByRole('button', { name: 'Create tool' })
    await dialog.getByLabel('Name').fill('pay')
    await create.click()
    await dialog.getByText('There is already a tool named "pay".').waitFor()

    let isLost = false
    await page.route('**/graphql', async (route) => {
      if (isLost || !route.request().postData()?.includes('mutation UpsertTool')) return route.continue()
      isLost = true
      await route.fetch()
      await route.abort('connectionreset')
    })
    await dialog.getByLabel('Name').fill('pay_back')
    await create.click()
    await dialog.getByText('cannot be reached').waitFor()
    await page.unroute('**/graphql')
    await create.click()
    await page.getByRole('button', { name: 'Edit pay_back' }).click()

    const list = '{ tools(filter: { nameContains: "pay" }) { nodes { id name description requiresApproval } } }'
    const { id } = (await data(list)).tools.nodes.find(({ name }: { name: string }) => name === 'pay_back')
    await data(`mutation { updateTool(input: { id: "${id}", requiresApproval: true }) { __typename } }`)
    await dialog.getByLabel('Description').fill('Returns money.')
    await dialog.getByRole('button', { name: 'Save tool' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await data(list)).tools.nodes).toMatchObject([
      { name: 'pay', description: '', requiresApproval: true },
      { name: 'pay_back', description: 'Returns money.', requiresApproval: true },
    ])
  })

  test('[CON12] [CON62] a key that is created here works until it is revoked here, and two people decide together', async () => {
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('table', { name: 'API keys' }).waitFor()
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByRole('dialog', { name: 'New key' }).getByLabel('Name').fill('the app')
    await page.getByRole('checkbox', { name: 'APPROVE' }).check()
    await page.getByRole('button', { name: 'Create key' }).click()
    const secret = (await page.getByTestId('secret').textContent())!
    const viewer = '{ viewer { actor { name } } }'
    expect((await ask(secret, viewer)).data.viewer.actor.name).toBe('the app')
    await page.getByRole('button', { name: 'Done' }).click()
    // Someone else signs in with the new key, until it is revoked.
    const other = await open(origin)
    await other.getByLabel('API key').fill(secret)
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('button', { name: 'Sign out' }).waitFor()
    await decideTogether(other)
    await page.getByRole('link', { name: 'Settings' }).click()
    const row = page.getByRole('row').filter({ hasText: 'the app' })
    await row.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await row.getByText('Revoked').waitFor()
    expect((await ask(secret, viewer)).errors[0].extensions.code).toBe('UNAUTHENTICATED')
    expect(await page.content()).not.toContain(secret)
    await other.getByLabel('API key', { exact: true }).waitFor()
    await other.getByText('no longer valid').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key', { exact: true }).waitFor()
  })

  test('[CON92] the first key of an open server has every scope, says that the server will require it, and stays until it is put away', async () => {
    const shared = await createTestDatabase()
    onTestFinished(() => shared.close())
    const before = await startTestApp({ database: shared })
    const url = new URL('/settings', before.url)
    const owner = await open(url.href)
    await owner.getByText('none is needed on this machine').waitFor()
    await owner.getByRole('button', { name: 'New key' }).click()
    await owner.getByText('from its next start on, it accepts only requests with a key').waitFor()
    expect(await owner.getByRole('checkbox', { checked: true }).count()).toBe(4)
    await owner.getByLabel('Name').fill('the owner')
    await owner.getByRole('button', { name: 'Create key' }).click()
    await owner.getByTestId('secret').waitFor()
    for (let press = 0; press < 3; press++) await owner.keyboard.press('Escape')
    const secret = (await owner.getByTestId('secret').textContent({ timeout: 1_000 }))!
    await owner.getByRole('button', { name: 'Done' }).click()
    await owner.getByText('open until its next start').waitFor()

    await before.stop()
    const after = await startTestApp({ database: shared, env: { PORT: url.port } })
    onTestFinished(() => after.stop())
    await owner.getByText('The server now requires a key.').waitFor()
    await owner.getByLabel('API key', { exact: true }).fill(secret)
    await owner.getByRole('button', { name: 'Sign in' }).click()
    await owner.getByText('Signed in as the owner. Scopes: READ, RUN, APPROVE, MANAGE.').waitFor()
    await owner.close()
  })

  /** A call that two people must approve: each sees at once that the other has. */
  async function decideTogether(other: Page): Promise<void> {
    const agent = await createAgent('Payer', [
      { name: 'pay', requiresApproval: true, approvalsRequired: 2, ...javascript },
    ])
    await data('mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename } }', {
      input: { to: { agentId: agent }, messages: [{ text: 'call pay {}' }] },
    })
    await Promise.all([visit(page, `/agents/${agent}`), other.getByRole('link', { name: 'Inbox 1' }).click()])
    const call = page.getByRole('article', { name: 'Tool call: pay' })
    const item = other.getByRole('list', { name: 'Waiting for a decision' }).getByRole('listitem')
    await call.getByText('0 of 2 approvals').waitFor()
    await item.getByRole('button', { name: 'Approve' }).click()
    for (const each of [call, item]) await each.getByText('1 of 2 approvals, by the app').waitFor()
    await call.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('article', { name: 'Assistant' }).getByText('paid').waitFor()
    await other.getByText('Nothing is waiting').waitFor()
  }
})
