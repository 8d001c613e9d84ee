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

  async function ask(url: string, key: string): Promise<any> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ query: '{ viewer { actor { name } } }' }),
    })
    return response.json()
  }

  test('[CON12] a person signs in with a key, survives a killed server in mid-answer, and creates and revokes a key, which signs out whoever used it', async () => {
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
    await page.getByRole('button', { name: 'Create key' }).click()
    const secret = await page.getByTestId('secret').textContent()
    expect((await ask(url, secret!)).data.viewer.actor.name).toBe('the app')
    await page.getByRole('button', { name: 'Done' }).click()
    // Someone else signs in with the new key, until it is revoked.
    const other = await open(new URL(url).origin)
    await other.getByLabel('API key').fill(secret!)
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('button', { name: 'Sign out' }).waitFor()
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
