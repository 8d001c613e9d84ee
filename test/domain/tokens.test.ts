import { expect, test } from 'vitest'

import type { ModelRequest } from '../../src/domain/models/model-request.ts'
import { countTokens, weighRequest, type CountTokens } from '../../src/domain/tokens.ts'

test('[CTX5] the token count of a long text, estimated from samples, is close to the full count', () => {
  const kinds = [
    'It was said that nobody would ever come back to this place, and yet they came. ',
    '漢字仮名交じり文を書いている。',
    `${JSON.stringify({ id: 12_345, name: 'someone', tags: ['a', 'b'], ratio: 0.25 })}\n`,
    'aGVsbG8gd29ybGQsIHRoaXMgaXMgbm90aGluZw==',
  ]
  // Neither regular stripes that sampling could miss, nor the same everywhere.
  const text = Array.from({ length: 9_000 }, (_, place) => kinds[Math.floor(Math.sqrt(place * 7)) % kinds.length]).join(
    '',
  )
  let whole = 0
  for (let start = 0; start < text.length; start += 400) whole += countTokens(text.slice(start, start + 400))
  expect(text.length).toBeGreaterThan(300_000)
  expect(Math.abs(countTokens(text) / whole - 1)).toBeLessThan(0.05)
})

test('[CTX5] of a request with many texts, only some characters are counted', () => {
  const tools = Array.from({ length: 128 }, (_, index) => ({
    name: `t${index}`,
    description: '漢字仮名交じり文を書いている。'.repeat(600),
    parameters: {},
  }))
  const request = { systemPrompt: '', messages: [], tools } as unknown as ModelRequest
  const characters = 128 * 9_000
  let share: number | undefined
  const count: CountTokens = (text, given) => {
    share = given
    return countTokens(text, given)
  }
  const { total } = weighRequest(request, count)
  expect(share! * characters).toBeLessThan(210_000)
  const whole = 128 * countTokens(tools[0]!.description)
  expect(Math.abs(total / whole - 1)).toBeLessThan(0.05)
})
