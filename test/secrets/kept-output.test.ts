import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { expect, inject, test } from 'vitest'

import { startTestApp } from '../support/app.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { findLeaks } from '../support/kept-output.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

test('[SEC80] a secret in the log of a server is found: planted, sent by a client, or made by the server', async () => {
  const folder = await makeTemporaryFolder()
  const made = `hpt_${'0a'.repeat(32)}`
  await writeFile(join(folder, '1.secrets'), 'hp_of-a-client\n')
  await writeFile(join(folder, '2.log'), `fine\na hp_of-a-client b\n${made}\nPLANTED\nhp_of-another\n`)
  expect(findLeaks(folder)).toEqual(['a hp_of-a-client b', made, 'PLANTED'])
})

test("[SEC80] the log of a test's server and the keys of its clients are kept for the end of the test run", async () => {
  const app = await startTestApp({ env: { HOLDPOINT_API_KEY: 'hp_kept-secret' } })
  await createGraphQLClient(app.url, { authorization: 'Bearer hp_kept-secret' }).data('{ viewer { keyName } }')
  // A refusal that is logged.
  expect((await fetch(app.url, { method: 'POST', headers: { origin: 'https://strange.example' } })).status).toBe(403)
  await app.stop()
  const kept = readdirSync(inject('outputFolder')).map((name) =>
    readFileSync(join(inject('outputFolder'), name), 'utf8'),
  )
  expect(kept.some((text) => text.includes('hp_kept-secret'))).toBe(true)
  expect(kept.some((text) => text.includes('"level":'))).toBe(true)
})
