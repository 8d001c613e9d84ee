import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.stop())

describe('the audit of graphql-http', () => {
  it.each(serverAudits({ url: () => app.url, fetchFn: fetch }).map((audit) => ({ audit, name: audit.name })))(
    '[HTP1] $name',
    async ({ audit }) => {
      expect(await audit.fn()).toMatchObject({ status: 'ok' })
    },
  )
})
