import { serverAudits } from 'graphql-http'
import { afterAll, describe, expect, it } from 'vitest'

import { startTestApp } from '../support/app.ts'

const app = await startTestApp()
afterAll(() => app.stop())

describe('the audit of graphql-http', () => {
  it.each(serverAudits({ url: () => app.url, fetchFn: fetch }).map((audit) => ({ audit, name: audit.name })))(
    '[HTP1] $name',
    async ({ audit }) => {
      expect(await audit.fn()).toMatchObject({ status: 'ok' })
    },
  )
})
