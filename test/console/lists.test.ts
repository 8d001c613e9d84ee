import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { openGround, type Ground } from './ground.ts'

const ground = await openGround()

describe.skipIf(!ground)('the lists and forms of the console', () => {
  const { open, closePages, assertClean } = ground as Ground
  let server: TestApp
  let talk: Talk
  let origin: string

  beforeAll(async () => {
    server = await startTestApp()
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

  test('[CON142] what is over is not in the future for a browser whose clock is behind', async () => {
    const agent = await talk.createAgent({ model: 'demo/scripted' })
    await talk.settled(await talk.start(agent, 'Hello'))
    const page = await open(`${origin}/healthz`)
    await page.addInitScript('const now = Date.now; Date.now = () => now() - 60_000')
    await page.goto(`${origin}/runs`)
    const row = page.getByRole('table', { name: 'Runs' }).getByRole('row').nth(1)
    expect(await row.locator('time').textContent()).toBe('just now')
  })
})
