import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { openGround, type Ground } from '../../console/ground.ts'
import { openLongConversation } from '../../console/long-conversation.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { createGatedModel, gatedHandle, type GatedModel } from '../../support/gated-model.ts'
import { talkTo, type Talk } from '../../support/talk.ts'

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

  test('[CON90] the page of a long run has few elements, its slider works with the keyboard, and an opened event stays open', async () => {
    await server.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
      input: { name: 'note', implementation: { javascript: { source: 'export default () => "noted"' } } },
    })
    const agent = await talk.createAgent({ model: gatedHandle, tools: ['note'] })
    const run = await talk.start(agent, 'go')
    const take = async (first: number, end: number): Promise<void> => {
      for (let step = first; step < end; step++) {
        const call = await model.nextCall()
        call.say(`Step ${step}.`)
        call.call('note', {})
        call.finish()
      }
    }
    // Half of the steps are stored when the page is opened, and the others happen while it is open.
    await take(0, 20)
    const page = await openTab(new URL(`/runs/${run}`, server.url).href)
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
    const { log, belowView } = await openLongConversation({ server, openTab }, agent, { turns: 5_000 })
    const answers = log.getByRole('article', { name: 'Assistant' })
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
})
