import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import type { OpenDatabase } from '../../src/store/open-database.ts'
import { createTestDatabase } from '../support/database.ts'
import { spawnMain } from '../support/server-process.ts'
import { openGround, seriousFaults, type Ground } from './ground.ts'

const ground = await openGround()

describe.skipIf(!ground)('the console of a server with keys that is killed', () => {
  const { open, assertClean } = ground as Ground
  let database: OpenDatabase

  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterEach(() => assertClean())
  afterAll(async () => {
    await ground?.close()
    await database.close()
  })

  async function ask(url: string, key: string, query = '{ viewer { actor { name } } }'): Promise<any> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ query }),
    })
    return response.json()
  }

  async function data(url: string, query: string): Promise<any> {
    const answer = await ask(url, 'hp_owner', query)
    expect(answer.errors).toBeUndefined()
    return answer.data
  }

  /** A call that two people must approve: each sees at once that the other has. */
  async function decideTogether(url: string, owner: Page, other: Page): Promise<void> {
    const { upsertTool } = await data(
      url,
      `mutation { upsertTool(input: { name: "pay", requiresApproval: true, approvalsRequired: 2,
        parameters: { type: "object" }, implementation: { javascript: { source: "export default () => 'paid'" } } }) {
        tool { id } } }`,
    )
    const { createAgent } = await data(
      url,
      `mutation { createAgent(input: { name: "Payer", model: "demo/scripted", tools: [{ toolId: "${upsertTool.tool.id}" }] }) {
        agent { id } } }`,
    )
    await data(
      url,
      `mutation { sendMessage(input: { to: { agentId: "${createAgent.agent.id}" }, messages: [{ text: "call pay {}" }] }) {
        __typename } }`,
    )
    const { origin } = new URL(url)
    await Promise.all([owner.goto(`${origin}/agents/${createAgent.agent.id}`), other.goto(`${origin}/inbox`)])
    const call = owner.getByRole('article', { name: 'Tool call: pay' })
    const item = other.getByRole('list', { name: 'Waiting for a decision' }).getByRole('listitem')
    await call.getByText('0 of 2 approvals').waitFor()
    await item.getByRole('button', { name: 'Approve' }).click()
    for (const each of [call, item]) await each.getByText('1 of 2 approvals, by the app').waitFor()
    await call.getByRole('button', { name: 'Approve' }).click()
    await owner.getByRole('article', { name: 'Assistant' }).getByText('paid').waitFor()
    await other.getByText('Nothing is waiting').waitFor()
  }

  test('[CON12] [CON62] a person signs in with a key, survives a killed server in mid-answer, decides together with another, and creates and revokes a key, which signs out whoever used it', async () => {
    const env = { DATABASE_URL: database.url, LOG_LEVEL: 'fatal', HOLDPOINT_API_KEY: 'hp_owner' }
    const first = spawnMain([], env)
    const url = await first.ready()
    const page = await open(new URL(url).origin)
    await page.getByLabel('API key').fill('hp_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('does not accept this key').waitFor()
    expect(await seriousFaults(page)).toEqual([])
    await page.getByLabel('API key').fill('hp_owner')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Try the demo agent' }).click()
    const words = Array.from({ length: 80 }, (_, index) => `word${index}`).join(' ')
    await page.getByRole('textbox', { name: 'Message' }).fill(`slow 15\nsay ${words}`)
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const answer = page.getByRole('log').getByRole('article', { name: 'Assistant' })
    await answer.getByText('word3').waitFor()
    const connection = page.getByRole('status', { name: 'Connection' })
    first.child.kill('SIGKILL')
    await connection.getByText('Reconnecting').waitFor()
    await first.ended
    const second = spawnMain([], { ...env, PORT: new URL(url).port })
    await second.ready()
    await connection.getByText('Connected').waitFor()
    await answer.getByText('word79').waitFor()
    expect((await answer.locator('.markdown').textContent())?.trim()).toBe(words)
    expect(await answer.count()).toBe(1)

    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('table', { name: 'API keys' }).waitFor()
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByRole('dialog', { name: 'New key' }).getByLabel('Name').fill('the app')
    await page.getByRole('checkbox', { name: 'APPROVE' }).check()
    await page.getByRole('button', { name: 'Create key' }).click()
    const secret = await page.getByTestId('secret').textContent()
    expect((await ask(url, secret!)).data.viewer.actor.name).toBe('the app')
    await page.getByRole('button', { name: 'Done' }).click()
    // Someone else signs in with the new key, until it is revoked.
    const other = await open(new URL(url).origin)
    await other.getByLabel('API key').fill(secret!)
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('button', { name: 'Sign out' }).waitFor()
    await decideTogether(url, page, other)
    await page.goto(`${new URL(url).origin}/settings`)
    const row = page.getByRole('row').filter({ hasText: 'the app' })
    await row.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await row.getByText('Revoked').waitFor()
    expect((await ask(url, secret!)).errors[0].extensions.code).toBe('UNAUTHENTICATED')
    expect(await page.content()).not.toContain(secret)
    await other.getByLabel('API key', { exact: true }).waitFor()
    await other.getByText('no longer valid').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key', { exact: true }).waitFor()
    second.child.kill('SIGTERM')
    await second.ended
  }, 120_000)
})
