import { setTimeout } from 'node:timers/promises'

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { addTool, article, openGround, send, type Ground } from '../../console/ground.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { createGatedModel, gatedHandle, type GatedModel } from '../../support/gated-model.ts'
import { addTurns } from '../../support/many-turns.ts'
import { talkTo, type Talk } from '../../support/talk.ts'
import { countRenderings, watchChanges, type Seen } from './renderings.ts'

const ground = await openGround()

// If there is neither the packaged Chromium nor an installed Chrome, the reason was printed above.
describe.skipIf(!ground)('the console with much to show', () => {
  const { openTab, closePages, assertClean } = ground as Ground
  let server: TestApp
  let model: GatedModel
  let talk: Talk

  beforeAll(async () => {
    model = createGatedModel()
    server = await startTestApp({ providers: [model.provider] })
    talk = talkTo(server)
  })
  afterEach(async () => {
    await closePages()
    assertClean()
  })
  afterAll(async () => {
    await ground?.close()
    await server.stop()
  })

  const at = (path: string): string => new URL(path, server.url).href

  /** Opens the main conversation of an agent after it has been given this many turns. */
  async function openLong(agent: string, { turns }: { readonly turns: number }) {
    const { agent: found } = await server.data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', {
      id: agent,
    })
    const conversation = found.mainConversation.id as string
    await addTurns(server.database.pool, conversation.slice('conv_'.length), turns)
    const page = await openTab(at(`/conversations/${conversation}`))
    const log = page.getByRole('log', { name: 'Conversation' })
    /** How many pixels of the log are below what is in view. */
    const belowView = () => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)
    return { page, log, belowView }
  }

  test('[CON90] the page of a long run has few elements, its slider works with the keyboard, and an opened event stays open', async () => {
    await addTool(server, 'note', false)
    const agent = await talk.createAgent({ model: gatedHandle, tools: ['note'] })
    const run = await talk.start(agent, 'go')
    const take = async (first: number, end: number): Promise<void> => {
      for (let step = first; step < end; step++) {
        const call = await model.nextCall()
        call.say(`Step ${step}.`)
        call.call('note', { to: 'x' })
        call.finish()
      }
    }
    // Half of the steps are stored when the page is opened, and the others happen while it is open.
    await take(0, 20)
    const page = await openTab(at(`/runs/${run}`))
    await take(20, 40)
    const last = await model.nextCall()
    last.say('All noted.')
    last.finish()
    const seen = page.getByRole('group', { name: 'The run at this moment' })
    await seen.getByText('All noted.').waitFor()
    expect(await seen.getByRole('article').count()).toBeLessThan(60)
    const slider = page.getByRole('slider', { name: 'Replay' })
    await slider.press('Home')
    await seen.getByText('Nothing was visible yet.').waitFor()
    await slider.press('End')
    await seen.getByText('All noted.').waitFor()

    const log = page.getByRole('group', { name: 'Event log' })
    await log.getByText('MessageAdded').first().click()
    const opened = log.getByText('"__typename": "UserMessage"')
    await opened.waitFor()
    for (const top of [1e6, 0]) {
      await log.evaluate((box, to) => (box.scrollTop = to), top)
      await log.getByText(top > 0 ? 'run completed' : 'run queued').waitFor()
    }
    expect(await opened.isVisible()).toBe(true)
  })

  test('[CON82] a conversation of 10,000 messages opens at its end, scrolls, and has few elements in the document', async () => {
    const agent = await talk.createAgent({ model: 'demo/scripted' })
    const { page, log, belowView } = await openLong(agent, { turns: 5_000 })
    const answers = article(page, 'Assistant')
    const turns = async (): Promise<number[]> =>
      (await answers.locator('.markdown').allTextContents()).map((text) => Number(text.replace('turn ', '')))
    await expect.poll(async () => (await turns()).at(-1)).toBe(4_999)
    await answers.last().getByText('turn 4999').waitFor()
    expect(await belowView()).toBeLessThan(2)
    const most = 2_500
    for (let step = 0; step < 4; step++) {
      const [oldest] = await turns()
      await log.evaluate((box) => (box.scrollTop = 0))
      await expect.poll(async () => (await turns())[0]).toBeLessThan(oldest!)
      expect(await log.locator('*').count()).toBeLessThan(most)
    }
    await log.press('End')
    await expect.poll(async () => (await turns()).at(-1)).toBe(4_999)
    expect(await log.locator('*').count()).toBeLessThan(most)
  })

  test('[CON81] while an answer streams, only its end is rendered again, less often than words arrive, and the page can be used', async () => {
    const agent = await talk.createAgent({ model: gatedHandle })
    const page = await openTab(at(`/agents/${agent}`))
    const counter = await page.addInitScript(countRenderings)
    await page.reload()
    await counter.dispose()
    await send(page, 'before')
    const first = await model.nextCall()
    first.say('An answer from before.')
    first.finish()
    await article(page, 'Assistant').getByText('from before').waitFor()
    await send(page, 'go')
    const call = await model.nextCall()
    call.say('# Heading\n\nThe first block.\n\nThe second: ')
    await article(page, 'Assistant').getByText('The second:').waitFor()
    await page.evaluate(watchChanges)

    const words = 200
    for (let index = 0; index < words; index++) {
      call.say(`w${index} `)
      // 200 words per second.
      await setTimeout(5)
      if (index === words / 2) await page.getByRole('textbox', { name: 'Message' }).fill('typed meanwhile')
    }
    await article(page, 'Assistant')
      .getByText(`w${words - 1}`)
      .waitFor()
    const { renderings, changedElsewhere } = (await page.evaluate('window.seen')) as Seen
    expect(changedElsewhere).toEqual([])
    expect(renderings).toBeGreaterThan(0)
    expect(renderings).toBeLessThan(words / 2)
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('typed meanwhile')
    call.finish()
  })

  test('[CON84] what a person types in an entry stays there while the log scrolls, its buttons work meanwhile, and one that is pressed does not move', async () => {
    await addTool(server, 'far_off')
    const agent = await talk.createAgent({ model: 'demo/scripted', tools: [{ name: 'far_off' }] })
    const { page, log, belowView } = await openLong(agent, { turns: 100 })
    const oldest = async (): Promise<string | null> => article(page, 'Assistant').first().textContent()
    await expect
      .poll(async () => {
        await log.evaluate((box) => (box.scrollTop = 0))
        return oldest()
      })
      .toContain('turn 0')
    const edited = article(page, 'User').first()
    await edited.getByRole('button', { name: 'Edit message' }).click()
    const wording = page.getByRole('textbox', { name: 'New wording' })
    await wording.fill('a new wording')

    await send(page, 'call far_off {"to":"moon"}')
    const call = article(page, 'Tool call: far_off')
    await call.getByRole('button', { name: 'Deny' }).waitFor()
    await expect.poll(belowView).toBeLessThan(2)
    /** Returns whether buttons can be clicked while the log still scrolls. */
    const scroll = (to: number): Promise<string> =>
      log.evaluate(async (box, top) => {
        const { requestAnimationFrame, getComputedStyle } = globalThis as any
        box.scrollTop = top
        for (let frames = 0; frames < 3; frames++) await new Promise((done) => void requestAnimationFrame(done))
        return getComputedStyle(box.querySelector('article')).pointerEvents
      }, to)
    const deny = call.getByRole('button', { name: 'Deny' })
    await deny.hover()
    await page.mouse.down()
    const place = (await deny.boundingBox())!
    await talk.send(agent, 'from someone else', { whenBusy: 'ENQUEUE' })
    await article(page, 'User').getByText('from someone else').waitFor()
    await expect.poll(belowView).toBeGreaterThan(20)
    // Seen on a busy machine: an eighth of a pixel, which nobody notices. Following the end would move it by a message.
    expect(await deny.boundingBox()).toEqual({ ...place, y: expect.closeTo(place.y, 0) })
    await page.mouse.up()
    await call.getByRole('textbox', { name: 'Reason' }).fill('too far')
    for (const top of [0, 1_000, 500, 1e6, 0, 1e6]) {
      expect(await scroll(top)).toBe('auto')
      expect(await wording.inputValue()).toBe('a new wording')
      expect(await call.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('too far')
    }
    await call.getByRole('button', { name: 'Deny with reason' }).click()
    await call.getByText('“too far”').waitFor()
  })
})
