import { expect, test } from 'vitest'

import type { ModelMessage, ModelRequest } from '../../src/domain/models/model-request.ts'
import { countTokens, createTokenCounter, type CountTokens } from '../../src/util/tokens.ts'
import { weighRequest, weighUnits } from '../../src/domain/context/request-weight.ts'

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
  expect(share! * characters).toBeLessThan(65_000)
  const whole = 128 * countTokens(tools[0]!.description)
  expect(Math.abs(total / whole - 1)).toBeLessThan(0.05)
})

test('[CTX5] a count that was estimated for a long request is not taken for the count of a short one', () => {
  // Samples of it begin with blanks, so they say too little.
  const text = `${' '.repeat(400)}${'漢字仮名交じり文を書いている。'.repeat(100)}`
  const requestOf = (length: number) =>
    ({ systemPrompt: '', messages: Array.from({ length }, () => said(text)), tools: [] }) as unknown as ModelRequest
  const count = createTokenCounter()
  const long = weighRequest(requestOf(600), count).total
  expect(long).toBe(weighRequest(requestOf(600)).total)
  const short = weighRequest(requestOf(1), count).total
  expect(short).toBe(weighRequest(requestOf(1)).total)
  expect(short).toBeGreaterThan((3 * long) / 600)
  // A count of more pieces than asked for is as good.
  expect(count(text, 0.1)).toBe(countTokens(text))
})

test('[CTX5] of a long context that is weighed for a compaction, only some characters are counted', () => {
  const units = Array.from({ length: 600 }, (_, place) => [said(`${place} ${'word '.repeat(400)}`)])
  const shares = new Set<number | undefined>()
  const weights = weighUnits(units, (text, share) => {
    shares.add(share)
    return countTokens(text, share)
  })
  expect([...shares]).toEqual([expect.closeTo(60_000 / (600 * 2_000), 2)])
  expect(weights.reduce((total, weight) => total + weight) / (600 * countTokens('word '.repeat(400)))).toBeCloseTo(1, 1)
})

function said(text: string): ModelMessage {
  return { role: 'system', text }
}
