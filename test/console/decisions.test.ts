import type { Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { createGatedModel, gatedHandle, type GatedModel } from '../support/gated-model.ts'
import { addTurns } from '../support/many-turns.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { article, faultsInBothLooks, openGround, send, visit, type Ground } from './ground.ts'

const ground = await openGround()

describe.skipIf(!ground)('decisions and turns in the console', () => {
  const { open, openTab, closePages, assertClean } = ground as Ground
  let server: TestApp
  let model: GatedModel
  let talk: Talk
  let origin: string
  let agent: string

  beforeAll(async () => {
    model = createGatedModel()
    server = await startTestApp({ providers: [model.provider] })
    talk = talkTo(server)
    origin = new URL(server.url).origin
    const parameters = {
      type: 'object',
      required: ['to', 'amount'],
      properties: {
        to: { type: 'string', title: 'Recipient' },
        amount: { type: 'number' },
        urgent: { type: 'boolean' },
        currency: { enum: ['EUR', 'SEK'] },
        lines: { type: 'array' },
      },
    }
    const implementation = { javascript: { source: 'export default ({ to }) => `paid ${to}`' } }
    await server.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
      input: { name: 'pay', parameters, implementation, requiresApproval: true },
    })
    agent = await talk.createAgent({ model: 'demo/scripted', name: 'Payer', tools: ['pay'] })
  })
  afterEach(async () => {
    await closePages()
    assertClean()
  })
  afterAll(async () => {
    await ground?.close()
    await server.stop()
  })

  const callsFor = (...names: readonly string[]) =>
    names.map((to) => `call pay ${JSON.stringify({ to, amount: 5, lines: [1, 2] })}`).join('\n')
  const waiting = (page: Page) => page.getByRole('list', { name: 'Waiting for a decision' }).getByRole('listitem')
  const decidedIn = (page: Page, to: string): Locator =>
    page
      .getByRole('list', { name: 'Decided' })
      .getByRole('listitem')
      .filter({ hasText: `"to":"${to}"` })

  test('[CON170] a decision about one of several calls is shown at once, with who took it, and its outcome follows', async () => {
    const run = await talk.start(agent, callsFor('Ada', 'Bob'))
    onTestFinished(() => talk.cancel({ runId: run }))
    const [, second] = await talk.pending(run)
    const [chat, inbox] = await Promise.all([openTab(`${origin}/agents/${agent}`), openTab(`${origin}/inbox`)])
    await expect.poll(() => waiting(inbox).count()).toBe(2)
    const card = article(chat, 'Tool call: pay').first()
    await card.getByRole('button', { name: 'Approve' }).click()
    await card.getByText('Approved by').waitFor()
    expect(await card.getByText('Ready').count()).toBe(0)
    await decidedIn(inbox, 'Ada').getByText('Approved by').waitFor()
    expect(await decidedIn(inbox, 'Ada').getByText('Succeeded').count()).toBe(0)
    await talk.submit(run, [{ deny: { toolCallId: second.id, reason: 'too much' } }])
    await decidedIn(inbox, 'Ada').getByText('Succeeded').waitFor()
    await card.getByText('Succeeded').waitFor()
    // What was decided in the last days is on a page of its own, which knows it after a reload too.
    await inbox.getByRole('link', { name: 'Decided' }).click()
    await inbox.reload()
    await decidedIn(inbox, 'Ada').getByText('Succeeded').waitFor()
    await decidedIn(inbox, 'Bob').getByText('“too much”').waitFor()
    expect(await faultsInBothLooks(inbox)).toEqual([])
  })

  test('[CON171] the key a approves after five seconds in which it can be taken back, and leaving the page sends nothing', async () => {
    const run = await talk.start(agent, callsFor('a', 'b', 'c', 'd'))
    onTestFinished(() => talk.cancel({ runId: run }))
    const stored = async () => {
      const calls = (await talk.run(run)).steps[0].toolCalls as { decision: { kind: string } | null }[]
      return calls.map(({ decision }) => decision?.kind)
    }
    const page = await open(`${origin}/healthz`)
    await page.clock.install()
    await page.goto(`${origin}/inbox`)
    await expect.poll(() => waiting(page).count()).toBe(4)
    const undo = page.getByRole('button', { name: 'Undo' })
    await page.keyboard.press('a')
    await waiting(page).first().getByText('Approved in five seconds').waitFor()
    expect(await faultsInBothLooks(page)).toEqual([])
    await undo.click()
    expect(await undo.count()).toBe(0)
    await page.keyboard.press('a')
    await visit(page, '/agents')
    await page.getByRole('heading', { name: 'Agents' }).waitFor()
    await visit(page, '/inbox')
    await expect.poll(() => waiting(page).count()).toBe(4)
    await page.clock.fastForward(10_000)

    // Several at once: the second and the third, of which the third is taken back.
    for (const key of ['j', 'j', 'x']) await page.keyboard.press(key)
    await waiting(page).nth(2).getByRole('checkbox', { name: 'Select pay' }).check()
    expect(await faultsInBothLooks(page)).toEqual([])
    await page.getByRole('button', { name: 'Deny 2' }).click()
    await waiting(page).nth(2).getByRole('button', { name: 'Undo' }).click()
    await waiting(page).nth(1).getByText('Denied in five seconds').waitFor()
    expect(await stored()).toEqual([undefined, undefined, undefined, undefined])
    await page.clock.fastForward(5_000)
    await page.mouse.move(0, 0)
    await expect.poll(() => waiting(page).count()).toBe(3)
    expect(await stored()).toEqual([undefined, 'DENIED', undefined, undefined])
  })

  test('[CON172] arguments are rows with their titles, or JSON, and are edited as fields and as JSON', async () => {
    const run = await talk.start(agent, callsFor('Ada', 'Bob'))
    onTestFinished(() => talk.cancel({ runId: run }))
    await talk.pending(run)
    const page = await openTab(`${origin}/inbox`)
    const [first, second] = [waiting(page).first(), waiting(page).last()]
    const rows = first.getByRole('group', { name: 'Arguments' })
    await expect.poll(() => rows.getByRole('term').allTextContents()).toEqual(['Recipient', 'amount', 'lines'])
    expect(await rows.getByRole('definition').allTextContents()).toEqual(['Ada', '5', '[1,2]'])
    await first.getByText('JSON').click()
    await first.getByLabel('Code: json').getByText('"to": "Ada"').waitFor()

    await first.getByRole('button', { name: 'Edit arguments' }).click()
    expect(await first.getByRole('button', { name: 'Deny' }).count()).toBe(0)
    const json = first.getByRole('textbox', { name: 'Arguments' })
    await first.getByRole('textbox', { name: 'Recipient' }).fill('Eve')
    await first.getByRole('spinbutton', { name: 'amount' }).fill('7')
    await first.getByRole('checkbox', { name: 'urgent' }).check()
    await first.getByRole('combobox', { name: 'currency' }).selectOption('SEK')
    const edited = { to: 'Eve', amount: 7, lines: [1, 2], urgent: true, currency: 'SEK' }
    expect(JSON.parse(await json.inputValue())).toEqual(edited)
    await first.getByRole('combobox', { name: 'currency' }).selectOption('')
    expect(JSON.parse(await json.inputValue())).not.toHaveProperty('currency')
    expect(await faultsInBothLooks(page)).toEqual([])
    await json.fill('{"to":"Zoe"')
    await first.getByText('as soon as the JSON is complete').waitFor()
    await json.fill('{"to":"Zoe","amount":1}')
    expect(await first.getByRole('textbox', { name: 'Recipient' }).inputValue()).toBe('Zoe')
    await first.getByRole('button', { name: 'Approve edited' }).click()
    await decidedIn(page, 'Zoe').getByText('with other arguments').waitFor()

    // One button approves once, and the other beside it says how far an approval reaches.
    await second.getByRole('button', { name: 'How far it reaches' }).click()
    await second.getByRole('button', { name: 'until the run ends' }).click()
    await decidedIn(page, 'Bob').getByText('for the rest of the run').waitFor()
  })

  test('[CON173] a state is said once, and the footer of a turn tells waiting from working, without a price of nothing', async () => {
    const own = await talk.createAgent({ model: 'demo/scripted', tools: ['pay'] })
    const run = await talk.start(own, callsFor('Ada'))
    const [call] = await talk.pending(run)
    const page = await openTab(`${origin}/agents/${own}`)
    const state = page.getByRole('main').getByRole('link', { name: 'Awaiting approval' }).first()
    await state.waitFor()
    await talk.submit(run, [{ approve: { toolCallId: call.id } }])
    const end = page.locator('.turn-end')
    await end.getByText(/^[\d.]+ m?s \+ [\d.]+ m?s waiting/).waitFor()
    expect(await end.textContent()).not.toContain('$')
    await expect.poll(() => page.locator('.conversation-head .status').count()).toBe(0)
    await send(page, callsFor('Bob'))
    await page.getByRole('button', { name: 'Cancel run' }).click()
    await end.last().getByText('Cancelled').waitFor()
    expect(await page.getByText('run was cancelled').count()).toBe(0)
    // The list and the head of the page call it the same.
    const list = page.getByRole('navigation', { name: 'Conversations' })
    const opened = page.url()
    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.waitForURL((url) => url.href !== opened)
    await send(page, 'say hello')
    await list.getByRole('link', { name: /^say hello/ }).waitFor()
    await page.getByRole('button', { name: 'say hello' }).waitFor()
  })

  test('[CON174] a message is edited in place, versions say how they were made, and those of an old turn can be paged', async () => {
    const own = await talk.createAgent({ model: 'demo/scripted' })
    const page = await openTab(`${origin}/agents/${own}`)
    await send(page, 'say one')
    const user = article(page, 'User')
    await user.getByRole('button', { name: 'Edit message' }).click()
    const field = user.getByRole('textbox', { name: 'New wording' })
    const height = async () => (await field.boundingBox())!.height
    const before = await height()
    await field.fill('say two\n\n\nlines')
    expect(await height()).toBeGreaterThan(before * 2)
    await field.fill('say two')
    expect(await height()).toBe(before)
    await user.getByRole('button', { name: 'Answer this instead' }).click()
    await user.getByText('edited').waitFor()
    await page.getByRole('button', { name: 'Regenerate' }).click()
    await user.getByText('regenerated').waitFor()
    expect(await user.getByText('for everyone').isVisible()).toBe(true)

    const conversation = new URL(page.url()).pathname.split('/').at(-1)!
    await addTurns(server.database.pool, conversation.slice('conv_'.length), 105)
    await page.reload()
    await page.getByText('turn 104').first().waitFor()
    const log = page.getByRole('log', { name: 'Conversation' })
    const old = log.getByRole('group', { name: 'Versions of this turn' })
    await expect
      .poll(async () => {
        await log.evaluate((box) => (box.scrollTop = 0))
        return old.getByText('3 / 3').count()
      })
      .toBe(1)
    await old.getByRole('button', { name: 'Previous version' }).click()
    await old.getByText('2 / 3').waitFor()
    await old.getByRole('button', { name: 'Next version' }).click()
    await page.getByText('turn 104').first().waitFor()
  })

  test('[CON175] a file that is dropped on the messages is attached, and the end of a list that is written has the caret', async () => {
    const own = await talk.createAgent({ model: gatedHandle })
    const page = await openTab(`${origin}/agents/${own}`)
    await send(page, 'go')
    const call = await model.nextCall()
    call.say('Two:\n\n1. one\n2. two\n   - in it')
    const answer = article(page, 'Assistant')
    await answer.getByText('in it').waitFor()
    const carets = await answer
      .locator('.markdown *')
      .evaluateAll((all) =>
        all.filter((one) => getComputedStyle(one, '::after').content !== 'none').map((one) => one.textContent.trim()),
      )
    expect(carets).toEqual(['in it'])
    const drop = (type: string) =>
      page.getByRole('log').evaluate((box, name) => {
        const dataTransfer = new DataTransfer()
        dataTransfer.items.add(new File(['remember'], 'notes.txt'))
        const event = new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer })
        return !box.dispatchEvent(event)
      }, type)
    expect(await drop('dragover')).toBe(true)
    await page.getByPlaceholder('Drop files to attach them').waitFor()
    // The browser leaves the page for a file unless that was prevented.
    expect(await drop('drop')).toBe(true)
    await page.getByRole('list', { name: 'Attached files' }).getByText('notes.txt').waitFor()
    call.finish()
  })
})
