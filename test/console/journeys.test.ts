import { readFile } from 'node:fs/promises'

import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { createGatedModel, gatedHandle, type GatedModel } from '../support/gated-model.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { addTool, article, faultsInBothLooks, openGround, send, visit, type Ground } from './ground.ts'
import { changesOf, replay } from './replay.ts'

const ground = await openGround()

/** A picture of one pixel. */
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

// If there is neither the packaged Chromium nor an installed Chrome, the reason was printed above.
describe.skipIf(!ground)('the console in a browser', () => {
  const { open, openTab, closePages, assertClean } = ground as Ground
  let server: TestApp
  let model: GatedModel
  let talk: Talk
  let origin: string

  beforeAll(async () => {
    model = createGatedModel()
    server = await startTestApp({ providers: [model.provider] })
    talk = talkTo(server)
    origin = new URL(server.url).origin
  })
  afterEach(async () => {
    await closePages()
    assertClean()
  })
  afterAll(async () => {
    await ground?.close()
    await server.stop()
  })

  test('[CON4] a stranger makes the demo agent with one click, talks to it, and edits it', async () => {
    const page = await openTab(origin)
    await page.getByRole('heading', { name: 'Agents' }).waitFor()
    await page.getByRole('status', { name: 'Connection' }).getByText('Connected').waitFor()
    await page.getByRole('button', { name: 'Try the demo agent' }).click()
    await send(page, 'think First I think.\nsay Hello there.')
    await article(page, 'Assistant').getByText('Hello there.').waitFor()
    await article(page, 'Reasoning').waitFor()
    expect(await article(page, 'User').count()).toBe(1)
    const context = page.getByRole('complementary', { name: 'Context' })
    await context.getByRole('meter').waitFor()
    await context.getByText('System prompt').waitFor()

    await page.getByRole('link', { name: 'Edit agent' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Renamed')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('heading', { name: 'Renamed' }).waitFor()
    await page.getByRole('link', { name: 'Edit agent' }).click()
    expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Renamed')
  })

  test('[CON83] a stranger makes an agent with a tool that needs approval, talks to it, approves in a second window, and finds out why a run failed and what it cost', async () => {
    const page = await openTab(origin)
    const go = (name: string) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click()
    await go('Tools')
    await page.getByRole('button', { name: 'New tool' }).click()
    const tool = page.getByRole('dialog', { name: 'New tool' })
    await tool.getByLabel('Name').fill('shout')
    await tool.getByLabel('Every call needs approval').check()
    await tool.getByRole('button', { name: 'Create tool' }).click()
    const row = page.getByRole('table', { name: 'Tools' }).getByRole('row').filter({ hasText: 'shout' })
    await row.getByText('Always').waitFor()

    await go('Agents')
    await page.getByRole('button', { name: 'New agent' }).click()
    await page.getByRole('button', { name: 'Create agent' }).click()
    const name = page.getByRole('textbox', { name: 'Name' })
    await page.getByText('It is empty. Expected 1 to 200 characters.').waitFor()
    expect(await name.getAttribute('aria-invalid')).toBe('true')
    await name.fill('Crier')
    const model = page.getByRole('combobox', { name: 'Model' })
    await model.fill('nonsense')
    await page.getByRole('button', { name: 'Create agent' }).click()
    await expect.poll(() => model.getAttribute('aria-invalid')).toBe('true')
    expect(await page.locator('#models option').first().getAttribute('value')).toBe('demo/scripted')
    await model.fill('demo/scripted')
    await page.getByRole('textbox', { name: 'Instructions' }).fill('Be brief.')
    // Built-in tools come last.
    const choices = page.getByRole('group', { name: 'Tools of the agent' })
    expect(await choices.locator('.mono').last().textContent()).toBe('archival_memory_search')
    await choices.getByRole('checkbox', { name: 'shout' }).check()
    await page.getByRole('button', { name: 'Create agent' }).click()
    await page.getByRole('heading', { name: 'Crier', exact: true }).waitFor()

    await page.getByRole('button', { name: 'Ask for something that needs approval' }).click()
    await article(page, 'Tool call: shout').getByRole('button', { name: 'Approve' }).waitFor()
    const second = await open(origin)
    await second.getByRole('link', { name: 'Inbox 1' }).click()
    const item = second.getByRole('list', { name: 'Waiting for a decision' }).getByRole('listitem')
    await item.getByRole('definition').getByText('text').waitFor()
    await item.getByRole('button', { name: 'Approve' }).click()
    await second.getByText('Nothing is waiting').waitFor()
    await article(page, 'Assistant').getByText('shout returned: TEXT').waitFor()

    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.getByRole('button', { name: 'See a failure' }).dblclick()
    const problem = (await page.getByRole('alert').locator('strong').textContent())!
    expect(await article(page, 'User').count()).toBe(1)
    // Later, from the list of runs.
    await go('Runs')
    await page.getByLabel('Status').selectOption({ label: 'Failed' })
    await page.getByRole('table', { name: 'Runs' }).getByRole('link', { name: problem }).click()
    await page.getByRole('main').getByRole('alert').getByText(problem).waitFor()
    await page.getByText('The script said: fail rate_limit').waitFor()
    const cost = page.locator('dl > div').filter({ hasText: 'Cost' })
    expect(await cost.locator('dd').first().textContent()).toBe('$0')

    await go('Agents')
    await page.getByRole('searchbox', { name: 'Search agents' }).fill('crier')
    await page.getByRole('link', { name: 'Crier', exact: true }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'Renamed', exact: true }).count()).toBe(0)
  })

  test('[CON11] axe finds nothing serious on any page, both light and wide and dark and narrow', async () => {
    await addTool(server, 'publish')
    const agent = await talk.createAgent({
      model: 'demo/scripted',
      tools: ['publish'],
      blocks: [{ label: 'human', value: 'Ada' }],
    })
    const run = await talk.start(agent, 'think Well.\nsay Here is `code`.\ncall publish {"to":"x"}')
    await talk.pending(run)
    // Later tests count the calls that wait.
    onTestFinished(() => talk.cancel({ runId: run }))
    const page = await openTab(`${origin}/agents/${agent}`)
    const places = [
      '/agents',
      '/agents/new',
      `/agents/${agent}`,
      `/agents/${agent}/archive`,
      '/inbox',
      '/runs',
      `/runs/${run}`,
      '/schedules',
      '/usage',
      '/budgets',
      '/tools',
      '/memory',
      '/webhooks',
      '/settings',
      '/agents/nobody',
    ]
    await page.getByRole('status', { name: 'Connection' }).getByText('Connected').waitFor()
    for (const place of places) {
      await visit(page, place)
      await page.waitForURL(place === `/agents/${agent}` ? '**/conversations/*' : origin + place)
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0)
      expect(await faultsInBothLooks(page), place).toEqual([])
    }
  }, 120_000)

  test('[CON120] a budget is made, a run that waits for it goes on from the inbox, and usage shows it', async () => {
    await talk.createAgent({ model: 'demo/scripted', name: 'Careful' })
    const page = await openTab(`${origin}/budgets`)
    await page.getByRole('button', { name: 'New budget' }).click()
    await page.getByRole('combobox', { name: 'For' }).selectOption('Agent Careful')
    await page.getByRole('button', { name: 'Create budget' }).click()
    await page.getByText('A budget needs a limit').waitFor()
    await page.getByRole('spinbutton', { name: 'Tokens' }).fill('0')
    await page.getByRole('combobox', { name: 'When it is used up' }).selectOption('ASK')
    await page.getByRole('button', { name: 'Create budget' }).click()
    await page.getByRole('table', { name: 'Budgets' }).getByRole('cell', { name: 'Careful' }).waitFor()

    await visit(page, '/schedules')
    await page.getByRole('button', { name: 'New schedule' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Nightly')
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('Careful')
    await page.getByRole('textbox', { name: 'Message' }).fill('Count the visitors')
    await page.getByRole('textbox', { name: 'Cron' }).fill('@daily')
    await page.getByRole('button', { name: 'Create schedule' }).click()
    await page.getByText('is not a cron expression').waitFor()
    await page.getByRole('textbox', { name: 'Cron' }).fill('0 3 * * *')
    await page.getByRole('button', { name: 'Create schedule' }).click()
    await page.getByRole('table', { name: 'Schedules' }).getByRole('cell', { name: 'Nightly' }).waitFor()
    for (const place of ['/schedules', '/budgets']) {
      await visit(page, place)
      await page.getByRole('table').waitFor()
      expect(await faultsInBothLooks(page), place).toEqual([])
    }

    await visit(page, '/inbox')
    await page.getByText('Nothing is waiting').waitFor()
    const tab = await openTab(`${origin}/schedules`)
    await tab.getByRole('button', { name: 'Run now' }).click()
    const wait = page.getByRole('list', { name: 'Waiting for a budget' }).getByRole('listitem')
    await wait.getByRole('spinbutton', { name: 'Dollars' }).fill('1')
    expect(await faultsInBothLooks(page)).toEqual([])
    await wait.getByRole('button', { name: 'Continue' }).click()
    await wait.getByText('no limit in this unit').waitFor()
    await wait.getByRole('spinbutton', { name: 'Dollars' }).fill('')
    await wait.getByRole('spinbutton', { name: 'Tokens' }).fill('1000')
    await wait.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Nothing is waiting').waitFor()
    const used = tab.getByRole('table', { name: 'Usage by agent' }).getByText('Careful')
    // A sweep counts runs a moment after they have ended.
    const look = async (): Promise<number> => {
      await visit(tab, '/runs')
      await visit(tab, '/usage')
      await expect.poll(() => tab.getByRole('status', { name: 'Loading' }).count()).toBe(0)
      return used.count()
    }
    await expect.poll(look, { timeout: 10_000 }).toBe(1)
    expect(await faultsInBothLooks(tab)).toEqual([])
  }, 60_000)

  test('[CON110] the archive of an agent is searched, added to and deleted from', async () => {
    const agent = await talk.createAgent({ model: 'demo/scripted', embeddingModel: 'demo/embedding' })
    const page = await openTab(`${origin}/agents/${agent}/edit`)
    await page.getByRole('link', { name: 'Archive' }).click()
    await page.getByText('The archive is empty').waitFor()
    for (const text of ['Ada lives in Lund', 'Bread needs yeast']) {
      await page.getByRole('button', { name: 'Add text' }).click()
      await page.getByRole('textbox', { name: 'Text' }).fill(text)
      await page.getByRole('button', { name: 'Add', exact: true }).click()
      await page.getByRole('cell', { name: text, exact: true }).waitFor()
    }
    const rows = page.getByRole('table', { name: 'Archive' }).getByRole('row')
    await page.getByRole('searchbox', { name: 'Search the archive' }).fill('where does Ada live')
    await expect.poll(() => rows.nth(1).textContent()).toContain('Ada lives in Lund')
    await page.getByRole('searchbox', { name: 'Search the archive' }).fill('')
    await page.getByRole('button', { name: 'Delete Bread needs yeast' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await expect.poll(() => page.getByRole('cell', { name: 'Bread needs yeast', exact: true }).count()).toBe(0)
    await page.getByText('One text, found by its words').waitFor()
  })

  test('[CON5] an answer appears as it is written, continues after a reload, and is cut short by a cancel', async () => {
    const agent = await talk.createAgent({ model: gatedHandle })
    const page = await openTab(`${origin}/agents/${agent}`)
    await send(page, 'go')
    const call = await model.nextCall()
    call.say('The first half')
    await article(page, 'Assistant').getByText('The first half').waitFor()
    const message = page.getByRole('textbox', { name: 'Message' })
    await message.fill('half a message')
    await page.reload()
    expect(await message.inputValue()).toBe('half a message')
    await page.getByRole('link', { name: 'Inbox' }).click()
    await page.goBack()
    expect(await message.inputValue()).toBe('half a message')
    await article(page, 'Assistant').getByText('The first half').waitFor()
    call.say(' and the second.')
    await article(page, 'Assistant').getByText('The first half and the second.').waitFor()
    expect(await article(page, 'Assistant').count()).toBe(1)
    await page.getByRole('button', { name: 'Cancel run' }).click()
    await article(page, 'Assistant').getByText('cut short by a cancel').waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Cancel run' }).count()).toBe(0)
    await send(page, 'again')
    const next = await model.nextCall()
    next.fail({ message: 'The model is on strike.', retryable: true })
    await page.getByRole('alert').getByText('The model is on strike.').waitFor()
    await page.getByRole('button', { name: 'Retry' }).click()
    const last = await model.nextCall()
    last.think('What was I doing?')
    await article(page, 'Reasoning').locator('summary').click()
    last.say('Back at work.')
    last.finish()
    await article(page, 'Assistant').getByText('Back at work.').waitFor()
    // What the reader opened while it was written is still open when it is stored.
    await article(page, 'Reasoning').getByText('What was I doing?').waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Cancel run' }).count()).toBe(0)
    expect(await article(page, 'Reasoning').getByText('What was I doing?').isVisible()).toBe(true)
    await expect.poll(() => page.getByRole('alert').count()).toBe(0)
  })

  test('[CON6] two people decide: each sees what the other did, with who did it', async () => {
    await addTool(server, 'send_mail')
    const agent = await talk.createAgent({ model: 'demo/scripted', tools: ['send_mail'] })
    const [chat, inbox] = await Promise.all([openTab(`${origin}/agents/${agent}`), open(`${origin}/inbox`)])
    const list = inbox.getByRole('list', { name: 'Waiting for a decision' })
    await inbox.getByText('Nothing is waiting').waitFor()

    await send(chat, 'call send_mail {"to":"a"}')
    await inbox.getByRole('link', { name: 'Inbox 1' }).waitFor()
    const item = list.getByRole('listitem').filter({ has: inbox.getByRole('heading', { name: 'send_mail' }) })
    await item.getByRole('button', { name: 'Approve' }).click()
    const calls = article(chat, 'Tool call: send_mail')
    await calls.getByText('Approved by').waitFor()
    await article(chat, 'Assistant').getByText('did {"to":"a"}').waitFor()
    await inbox.getByText('Nothing is waiting').waitFor()

    await send(chat, 'call send_mail {"to":"b"}')
    await item.waitFor()
    await calls.nth(1).getByRole('button', { name: 'Deny' }).click()
    await calls.nth(1).getByRole('textbox', { name: 'Reason' }).fill('too late')
    await calls.nth(1).getByRole('button', { name: 'Deny with reason' }).click()
    await inbox.getByRole('list', { name: 'Decided' }).getByText('too late').waitFor()

    await send(chat, 'call send_mail {"to":"c"}')
    await calls.nth(2).getByRole('button', { name: 'Edit arguments' }).click()
    const args = calls.nth(2).getByRole('textbox', { name: 'Arguments' })
    for (const [text, problem] of [
      ['{"to":', 'This is not JSON'],
      ['{"to":1}', 'string'],
    ] as const) {
      await args.fill(text)
      await calls.nth(2).getByRole('button', { name: 'Approve edited' }).click()
      await calls.nth(2).getByText(problem).waitFor()
    }
    await args.fill('{"to":"d"}')
    await calls.nth(2).getByRole('button', { name: 'Approve edited' }).click()
    await article(chat, 'Assistant').getByText('did {"to":"d"}').waitFor()
    await calls.nth(2).getByText('with other arguments').waitFor()
    await calls.nth(2).locator('summary').click()
    await calls.nth(2).getByText('As the model wrote them').waitFor()
  })

  test('[CON7] the inbox is worked through with the keyboard alone', async () => {
    await addTool(server, 'sign')
    const agent = await talk.createAgent({ model: 'demo/scripted', tools: ['sign'] })
    const run = await talk.start(agent, ['first', 'second', 'third'].map((to) => `call sign {"to":"${to}"}`).join('\n'))
    const page = await openTab(`${origin}/inbox`)
    const items = page.getByRole('list', { name: 'Waiting for a decision' }).getByRole('listitem')
    await expect.poll(() => items.count()).toBe(3)
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('a')
    // Sent in five seconds, in which the person goes on with the next call.
    await items.nth(1).getByRole('button', { name: 'Undo' }).waitFor()
    expect(await items.nth(2).getAttribute('aria-current')).toBe('true')
    await page.keyboard.press('e')
    await page.getByRole('textbox', { name: 'Arguments' }).waitFor()
    await page.keyboard.press('Escape')
    for (const key of ['k', 'k', 'd']) await page.keyboard.press(key)
    await page.keyboard.type('no')
    await page.keyboard.press('Enter')
    await expect.poll(() => items.count(), { timeout: 15_000 }).toBe(1)
    await page.keyboard.press('a')
    await page.getByText('Nothing is waiting').waitFor()
    const settled = await talk.settled(run)
    const decisions = settled.steps[0].toolCalls.map((call: { decision: { kind: string } }) => call.decision.kind)
    expect(decisions).toEqual(['DENIED', 'APPROVED', 'APPROVED'])
  })

  test('[CON85] in the inbox a double click decides once, the focus goes to the next call, and what is typed while someone else decides goes nowhere else', async () => {
    await addTool(server, 'stamp')
    const agent = await talk.createAgent({ model: 'demo/scripted', tools: ['stamp'] })
    const run = await talk.start(agent, ['a', 'b', 'c', 'd'].map((to) => `call stamp {"to":"${to}"}`).join('\n'))
    onTestFinished(() => talk.cancel({ runId: run }))
    const pending = await talk.pending(run)
    const page = await openTab(`${origin}/inbox`)
    const items = page.getByRole('list', { name: 'Waiting for a decision' }).getByRole('listitem')
    await expect.poll(() => items.count()).toBe(4)
    const approve = items.first().getByRole('button', { name: 'Approve' })
    const { x, y } = (await approve.boundingBox())!
    await approve.click()
    await expect.poll(() => items.count()).toBe(3)
    expect(await items.first().evaluate((item) => item === item.ownerDocument.activeElement)).toBe(true)
    // The second click of a double click meets the next call, which has moved there.
    await page.mouse.move(x + 5, y + 5)
    await page.mouse.down({ clickCount: 2 })
    await page.mouse.up({ clickCount: 2 })

    await items.nth(1).getByRole('button', { name: 'Deny' }).click()
    const reason = page.getByRole('textbox', { name: 'Reason' })
    await page.keyboard.type('b')
    await talk.submit(run, [{ deny: { toolCallId: pending[2].id, reason: 'elsewhere' } }])
    await items.getByText('elsewhere').waitFor()
    await page.keyboard.type('ad idea')
    expect(await reason.inputValue()).toBe('bad idea')
    await items.getByRole('button', { name: 'Close' }).click()
    await expect.poll(() => items.count()).toBe(2)

    // While the pointer is over the list, a call that is decided elsewhere keeps its place.
    const button = items.nth(1).getByRole('button', { name: 'Approve' })
    await button.hover()
    const place = await button.boundingBox()
    await talk.submit(run, [{ deny: { toolCallId: pending[1].id } }])
    await expect.poll(() => items.count()).toBe(1)
    expect(await items.getByRole('button', { name: 'Approve' }).boundingBox()).toEqual(place)
    const calls = (await talk.run(run)).steps[0].toolCalls as { decision: { kind: string } | null }[]
    expect(calls.map(({ decision }) => decision?.kind)).toEqual(['APPROVED', 'DENIED', 'DENIED', undefined])
  })

  test('[CON8] HTML in answers, arguments and results is text; links carry no referrer; images of other sites are not loaded', async () => {
    await addTool(server, 'echo', false)
    const agent = await talk.createAgent({ model: gatedHandle, tools: ['echo'] })
    const page = await openTab(`${origin}/agents/${agent}`)
    await send(page, '<img src=x onerror=alert(1)>')
    const call = await model.nextCall()
    call.say(
      '<b>bold</b> <script>alert(1)</script>\n\n![pixel](https://example.com/p.png) [link](https://example.com) [bad](javascript:alert(1))',
    )
    call.call('echo', { to: '<i>x</i>' })
    call.finish()
    const last = await model.nextCall()
    last.say('# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nconst a = 1\n```\n\n- one\n- two')
    last.finish()
    const first = article(page, 'Assistant').first()
    await first.getByText('<b>bold</b> <script>alert(1)</script>').waitFor()
    expect(await page.locator('.log img, .log script, .log b, .log i').count()).toBe(0)
    expect(
      await first
        .getByRole('link')
        .evaluateAll((links) => links.map((link) => `${link.getAttribute('href')} ${link.getAttribute('rel')}`)),
    ).toEqual(
      ['https://example.com noopener noreferrer nofollow', 'https://example.com noopener noreferrer nofollow'].map(
        (link, index) => (index === 0 ? link.replace('.com ', '.com/p.png ') : link),
      ),
    )
    const second = article(page, 'Assistant').nth(1)
    await second.getByRole('heading', { name: 'Title' }).waitFor()
    await second.getByRole('table').waitFor()
    expect(await second.getByRole('listitem').count()).toBe(2)
    await second.getByRole('button', { name: 'Copy code' }).waitFor()
    await second.locator('.hljs-keyword').waitFor()
  })

  test('[CON9] [CON86] a block that someone else has changed is not overwritten without asking, and what is typed into it stays', async () => {
    const { createBlock } = await server.data(
      'mutation { createBlock(input: { label: "shared", value: "one" }) { block { id } } }',
    )
    const page = await openTab(`${origin}/memory`)
    const item = page.getByRole('list', { name: 'Blocks' }).getByRole('listitem').filter({ hasText: 'shared' })
    const value = item.getByRole('textbox', { name: 'Value' })
    await value.fill('mine')
    const search = page.getByRole('searchbox', { name: 'Search blocks' })
    await search.fill('no such block')
    await expect.poll(() => item.count()).toBe(0)
    await search.fill('')
    expect(await value.inputValue()).toBe('mine')
    const update = 'mutation ($id: ID!) { updateBlock(input: { id: $id, value: "theirs" }) { __typename } }'
    await server.data(update, { id: createBlock.block.id })
    await item.getByRole('button', { name: 'Save block' }).click()
    await item.getByRole('alert').getByText('theirs', { exact: true }).waitFor()
    await item.getByRole('button', { name: 'Replace with mine' }).click()
    await expect
      .poll(
        async () =>
          (await server.data('query ($id: ID!) { block(id: $id) { value version } }', { id: createBlock.block.id }))
            .block,
      )
      .toEqual({ value: 'mine', version: 3 })

    // While a change is saved, the person goes on typing.
    let release = (): void => {}
    const held = new Promise<void>((done) => (release = done))
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('updateBlock')) await held
      await route.continue()
    })
    await value.fill('mine, saved')
    await item.getByRole('button', { name: 'Save block' }).click()
    await value.press('End')
    await page.keyboard.type(' and more')
    release()
    await item.getByText('version 4').waitFor()
    expect(await value.inputValue()).toBe('mine, saved and more')

    const opener = page.getByRole('button', { name: 'New block' })
    await opener.click()
    await page.keyboard.type('typed')
    expect(await page.getByRole('textbox', { name: 'Label' }).inputValue()).toBe('typed')
    await page.keyboard.press('Escape')
    await expect.poll(() => opener.evaluate((button) => button === button.ownerDocument.activeElement)).toBe(true)
    await opener.click()
    expect(await page.getByRole('textbox', { name: 'Label' }).inputValue()).toBe('typed')
    await page.keyboard.press('Escape')
    // Another page and a reload, with a change that is not saved.
    await value.fill('not saved')
    await visit(page, '/agents')
    await page.getByRole('heading', { name: 'Agents' }).waitFor()
    await page.reload()
    await visit(page, '/memory')
    expect(await value.inputValue()).toBe('not saved')
  })

  test('[CON89] an agent whose creation was not answered is made once, and a double click does it once', async () => {
    const page = await openTab(`${origin}/agents/new`)
    await page.getByRole('textbox', { name: 'Name' }).fill('Only one')
    await page.getByRole('combobox', { name: 'Model' }).fill('demo/scripted')
    let isLost = false
    await page.route('**/graphql', async (route) => {
      if (isLost || !route.request().postData()?.includes('Only one')) return route.continue()
      isLost = true
      await route.fetch()
      await route.abort('connectionreset')
    })
    await page.getByRole('button', { name: 'Create agent' }).click()
    await page.getByRole('alert').getByText('The server cannot be reached.').waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Create agent' }).dblclick()
    await page.waitForURL('**/conversations/*')
    const { agents } = await server.data('{ agents(filter: { nameContains: "Only one" }) { nodes { id } } }')
    expect(agents.nodes).toHaveLength(1)
    const opened = page.url()
    await page.getByRole('button', { name: 'New conversation' }).dblclick()
    await expect.poll(() => page.url()).not.toBe(opened)
    await send(page, 'say hello')
    await article(page, 'Assistant').getByText('hello').waitFor()
    const { agent } = await server.data('query ($id: ID!) { agent(id: $id) { conversations { totalCount } } }', {
      id: agents.nodes[0].id,
    })
    expect(agent.conversations.totalCount).toBe(2)
  })

  test('[CON10] the slider replays a run as it was watched, and the timeline tells people, models and tools apart', async () => {
    await addTool(server, 'pay')
    const agent = await talk.createAgent({ model: 'demo/scripted', tools: ['pay'], keepRequests: true })
    const run = await talk.start(agent, 'call pay {"to":"x"}')
    const [pending] = await talk.pending(run)
    await talk.submit(run, [{ approve: { toolCallId: pending.id } }])
    await talk.settled(run)
    const page = await openTab(`${origin}/runs`)
    const row = page.getByRole('table', { name: 'Runs' }).getByRole('row').nth(1)
    await row.getByRole('link', { name: 'call pay' }).click()
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByText('Waiting for people').waitFor()
    await timeline.getByText('Step 1').click()
    await timeline.getByText('What the context was made of').waitFor()
    await timeline.getByText('Request as it was sent').click()
    await timeline.getByText('"systemPrompt"').waitFor()
    expect(await timeline.getByLabel('Result of pay').textContent()).toBe('did {"to":"x"}')
    await page.getByRole('region', { name: 'Events' }).getByText('ToolCallChanged').first().waitFor()
    const seen = page.getByRole('group', { name: 'The run at this moment' })
    await seen.getByRole('article', { name: 'Assistant' }).waitFor()
    const moments = (await replay(page)).map(({ calls }) => calls['pay'] ?? 'none')
    expect(changesOf(moments)).toEqual(
      ['none', 'Pending', 'Ready', 'Running', 'Succeeded'].filter((one) => moments.includes(one)),
    )
    expect(moments).toEqual(expect.arrayContaining(['none', 'Pending', 'Succeeded']))
  })

  test('[CON150] the page of a queued run says what it waits for and what it was sent, and becomes that of a run', async () => {
    const agent = await talk.createAgent({ model: gatedHandle })
    const first = await talk.start(agent, 'one')
    const call = await model.nextCall()
    const second = await talk.start(agent, 'two', { whenBusy: 'ENQUEUE' })
    const third = await talk.start(agent, 'three', { whenBusy: 'ENQUEUE' })
    const page = await openTab(`${origin}/runs/${third}`)
    const waiting = page.getByRole('region', { name: 'Waiting for its turn' })
    await waiting.getByText('the active run (running) and 1 more in the queue.').waitFor()
    expect(await waiting.getByRole('link').getAttribute('href')).toBe(`/runs/${first}`)
    expect(await waiting.getByLabel('Message').textContent()).toBe('three')
    const lead = page.locator('.lead')
    expect(await lead.textContent()).toMatch(/^Queued · sent/)
    expect(await page.getByRole('button', { name: 'Play' }).count()).toBe(0)
    call.say('1')
    call.finish()
    const next = await model.nextCall()
    await waiting.getByText('the active run (running).').waitFor()
    expect(await waiting.getByRole('link').getAttribute('href')).toBe(`/runs/${second}`)
    next.say('2')
    next.finish()
    const last = await model.nextCall()
    last.say('3')
    last.finish()
    await page.getByRole('slider', { name: 'Replay' }).waitFor()
    await lead.getByText('Completed').waitFor()
    expect(await waiting.count()).toBe(0)
  })

  test('[CON13] a person edits a message, answers again, pages between the versions, takes a waiting message back, and clears and archives the conversation', async () => {
    const agent = await talk.createAgent({ model: 'demo/scripted', name: 'Brancher' })
    const [page, other] = await Promise.all([
      openTab(`${origin}/agents/${agent}`),
      openTab(`${origin}/agents/${agent}`),
    ])
    await send(page, 'say one')
    await article(page, 'Assistant').getByText('one').waitFor()
    await article(page, 'User').getByRole('button', { name: 'Edit message' }).click()
    await page.getByRole('textbox', { name: 'New wording' }).fill('say two')
    await page.getByRole('button', { name: 'Answer this instead' }).click()
    for (const each of [page, other]) {
      await article(each, 'Assistant').getByText('two').waitFor()
      expect(await article(each, 'Assistant').count()).toBe(1)
    }
    await other.getByRole('button', { name: 'Previous version' }).click()
    for (const each of [page, other]) await article(each, 'Assistant').getByText('one').waitFor()
    await page.getByRole('button', { name: 'Regenerate' }).click()
    for (const each of [page, other]) await article(each, 'User').getByText('3 / 3').waitFor()

    const gated = await talk.createAgent({ model: gatedHandle })
    await visit(page, `/agents/${gated}`)
    await page.getByText('Write the first message below.').waitFor()
    await send(page, 'now')
    const call = await model.nextCall()
    await send(page, 'later')
    const waiting = article(page, 'User').filter({ hasText: 'Waits for its turn' })
    await waiting.waitFor()
    await page.reload()
    await waiting.getByText('later').waitFor()
    await waiting.getByRole('button', { name: 'Take back' }).click()
    await expect.poll(() => waiting.count()).toBe(0)
    call.say('Done.')
    call.finish()
    await article(page, 'Assistant').getByText('Done.').waitFor()

    const more = page.getByRole('button', { name: 'More about this conversation' })
    await more.click()
    await page.getByRole('button', { name: 'Clear conversation' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Clear' }).click()
    await page.getByText('Write the first message below.').waitFor()
    await more.click()
    await page.getByRole('button', { name: 'Archive conversation' }).click()
    await page.getByText('This conversation is archived.').waitFor()
  })

  test('[CON98] a conversation without a title is listed by what was last asked in it, and a turn that failed says why, also after later turns', async () => {
    const agent = await talk.createAgent({ model: 'demo/scripted', name: 'Lister' })
    const { createConversation } = await server.data(
      'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
      { input: { agentId: agent } },
    )
    const page = await openTab(`${origin}/conversations/${createConversation.conversation.id}`)
    const list = page.getByRole('navigation', { name: 'Conversations' })
    await list.getByRole('link', { name: /^Main conversation/ }).waitFor()
    await list.getByRole('link', { name: /^Conversation/ }).waitFor()
    await send(page, 'fail rate_limit')
    const problem = (await page.getByRole('alert').locator('strong').textContent())!
    await send(page, 'say it works')
    await list.getByRole('link', { name: /^say it works/ }).waitFor()
    await article(page, 'Assistant').getByText('it works').waitFor()
    await page.locator('.turn-end').filter({ hasText: 'Failed' }).getByText(problem).waitFor()
    expect(await page.getByText(problem).count()).toBe(1)
  })

  test('[CON61] files are attached, shown and saved, also those of tools; an edit keeps them, and a fork has them', async () => {
    const source = `export default () => ({ content: [{ text: 'drawn' }, { imageUrl: '${pixel}' }] })`
    await server.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
      input: { name: 'draw', parameters: { type: 'object' }, implementation: { javascript: { source } } },
    })
    const agent = await talk.createAgent({ model: 'demo/scripted', tools: ['draw'] })
    const page = await openTab(`${origin}/agents/${agent}`)
    await page.getByLabel('Files', { exact: true }).setInputFiles([
      { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(pixel.split(',')[1]!, 'base64') },
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('remember') },
      { name: 'spare.bin', mimeType: '', buffer: Buffer.from([0, 1]) },
    ])
    const attached = page.getByRole('list', { name: 'Attached files' })
    await attached.getByText('8 bytes').waitFor()
    await attached.getByRole('button', { name: 'Remove spare.bin' }).click()
    await send(page, 'call draw {}')
    const widths = (name: string): Promise<number[]> =>
      article(page, name)
        .locator('img')
        .evaluateAll((images) => images.map((image) => (image as HTMLImageElement).naturalWidth))
    async function hasPicture(name: string): Promise<void> {
      await expect.poll(() => widths(name)).toEqual([1])
    }
    await hasPicture('User')
    await hasPicture('Tool call: draw')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      article(page, 'User').getByRole('button', { name: 'Download notes.txt' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('notes.txt')
    expect(await readFile(await download.path(), 'utf8')).toBe('remember')
    await article(page, 'User').getByRole('button', { name: 'Edit message' }).click()
    await page.getByRole('textbox', { name: 'New wording' }).fill('say kept')
    await page.getByRole('button', { name: 'Answer this instead' }).click()
    await article(page, 'Assistant').getByText('kept').waitFor()
    await hasPicture('User')
    const before = page.url()
    await page.getByRole('button', { name: 'Fork conversation' }).click()
    await expect.poll(() => page.url()).not.toBe(before)
    await article(page, 'Assistant').getByText('kept').waitFor()
    await hasPicture('User')
  })

  test('[CON95] the keyboard keeps its place: after an edit, a new title, another answer, and in and out of both drawers', async () => {
    const agent = await talk.createAgent({ model: 'demo/scripted' })
    await talk.settled(await talk.start(agent, 'say one'))
    const page = await openTab(`${origin}/agents/${agent}`)
    const press = async (name: string, ...keys: string[]): Promise<void> => {
      const button = page.getByRole('button', { name, exact: true })
      // Versions cannot be selected while a run is under way, and a disabled button cannot have the focus.
      await expect.poll(() => button.isEnabled()).toBe(true)
      await button.focus()
      for (const key of ['Enter', ...keys]) await page.keyboard.press(key)
    }
    const focus = () =>
      page.evaluate<string>(`(({ ariaLabel, title, innerText, tagName }) =>
        ariaLabel || title || (tagName === 'BODY' ? tagName : innerText))(document.activeElement)`)
    const hasFocus = async (name: string): Promise<void> => {
      await expect.poll(focus).toBe(name)
    }

    await press('Edit message', 'Escape')
    await hasFocus('Edit message')
    await press('Main conversation', 'Escape')
    await hasFocus('Rename')
    await press('Main conversation', 'T', 'Enter')
    await page.getByRole('button', { name: 'T', exact: true }).waitFor()
    await hasFocus('Rename')
    await press('Hide context')
    await hasFocus('Show context')
    await page.keyboard.press('Enter')
    await hasFocus('Hide context')
    await press('Regenerate')
    await article(page, 'User').getByText('2 / 2').waitFor()
    await hasFocus('Conversation')
    await press('Edit message', 'End', '!')
    await press('Answer this instead')
    await article(page, 'User').getByText('3 / 3').waitFor()
    await hasFocus('Conversation')
    await press('Previous version')
    await article(page, 'User').getByText('2 / 3').waitFor()
    await hasFocus('Previous version')
    await page.keyboard.press('Enter')
    await article(page, 'User').getByText('1 / 3').waitFor()
    await hasFocus('Next version')

    await press('Hide context')
    await page.setViewportSize({ width: 360, height: 740 })
    const drawers = [
      ['Show context', page.getByRole('complementary', { name: 'Context' }), 5],
      ['Conversations', page.getByRole('navigation', { name: 'Conversations' }), 355],
    ] as const
    for (const [opener, drawer, beside] of drawers) {
      for (const close of [() => page.keyboard.press('Escape'), () => page.mouse.click(beside, 400)]) {
        await press(opener)
        await page.keyboard.press('Tab')
        expect(await drawer.locator(':focus').count()).toBe(1)
        await close()
        await hasFocus(opener)
        expect(await drawer.isVisible()).toBe(false)
      }
    }
  })
})
