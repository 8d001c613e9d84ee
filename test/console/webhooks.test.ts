import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, verify, type Receiver } from '../support/webhook-receiver.ts'
import { talkTo } from '../support/talk.ts'
import { addTool, faultsInBothLooks, openGround, type Ground } from './ground.ts'

const ground = await openGround()

describe.skipIf(!ground)('webhooks and decision links in a browser', () => {
  const { open, assertClean } = ground as Ground
  let server: TestApp
  let receiver: Receiver
  let origin: string

  beforeAll(async () => {
    server = await startTestApp({
      env: { HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1', HOLDPOINT_PUBLIC_URL: 'http://hold.example' },
    })
    receiver = await startReceiver()
    origin = new URL(server.url).origin
  })
  afterAll(async () => {
    await ground?.close()
    await receiver.close()
    await server.stop()
  })

  test('[CON111] a webhook is created, tested and looked at, and a delivery is sent again', async () => {
    const page = await open(`${origin}/webhooks`)
    await page.getByText('There are no webhooks').waitFor()
    expect(await faultsInBothLooks(page)).toEqual([])
    await page.getByRole('button', { name: 'New webhook' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Address').fill('http://nowhere')
    await dialog.getByLabel('Headers').fill('host: x')
    await dialog.getByRole('button', { name: 'Create webhook' }).click()
    await dialog.getByText('The server sets this header itself').waitFor()
    await dialog.getByLabel('Address').fill(receiver.url)
    await dialog.getByLabel('Headers').fill('x-team: blue')
    await dialog.getByRole('button', { name: 'Create webhook' }).click()
    const secret = (await page.getByTestId('secret').textContent())!
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: receiver.url }).click()
    await page.getByText('There are no deliveries').waitFor()
    await page.getByRole('button', { name: 'Test' }).click()
    await page.getByRole('dialog').getByText('Delivered').waitFor()
    expect(await faultsInBothLooks(page)).toEqual([])
    verify(secret, receiver.received[0]!)
    expect(receiver.received[0]!.headers['x-team']).toBe('blue')
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Resend' }).click()
    await receiver.until(({ length }) => length === 2)
    expect(receiver.received[1]!.id).toBe(receiver.received[0]!.id)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('It may have been deleted').waitFor()
    assertClean()
  }, 120_000)

  async function linkTo(): Promise<string> {
    await addTool(server, 'publish')
    const talk = talkTo(server)
    const agent = await talk.createAgent({ name: 'Clerk', model: 'demo/scripted', tools: ['publish'] })
    const [call] = await talk.pending(await talk.start(agent, `call publish {"to":"${'somebody '.repeat(40)}"}`))
    const { createDecisionLink } = await server.data(
      'mutation ($input: CreateDecisionLinkInput!) { createDecisionLink(input: $input) { url } }',
      { input: { toolCallId: call.id, personId: 'ada', personName: 'Ada' } },
    )
    return createDecisionLink.url.replace('http://hold.example', origin)
  }

  async function phone(url: string): Promise<Page> {
    const context = await (
      await open(url)
    )
      .context()
      .browser()!
      .newContext({
        ...{ javaScriptEnabled: false, viewport: { width: 360, height: 640 } },
      })
    const page = await context.newPage()
    await page.goto(url)
    return page
  }

  test('[DEC6] the page of a link works on a phone, without scripts, by keyboard, in light and dark', async () => {
    const url = await linkTo()
    const desk = await open(url)
    expect(await faultsInBothLooks(desk)).toEqual([])
    const page = await phone(url)
    await page.getByRole('heading', { name: 'Clerk wants to call publish' }).waitFor()
    await page.getByLabel('Reason').focus()
    await page.keyboard.type('Not today')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('Denied by Ada (you)').waitFor()
    await page.getByText('Not today').waitFor()
    expect(page.url()).toBe(url)
    await page.context().close()
    assertClean()
  }, 60_000)
})
