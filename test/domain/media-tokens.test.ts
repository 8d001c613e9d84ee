import { expect, test } from 'vitest'

import { estimateTokens } from '../../src/domain/context/media-tokens.ts'

/** The beginning of a PNG of this size. */
function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(32)
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').copy(header)
  header.writeUInt32BE(width, 16)
  header.writeUInt32BE(height, 20)
  return header
}

test('[FIL12] an image counts by its size, scaled down as providers do, and never more than 1,600 tokens', () => {
  expect(estimateTokens('image/png', png(750, 100))).toBe(100)
  expect(estimateTokens('image/png', png(3_136, 1_000))).toBe(Math.ceil((1_568 * 500) / 750))
  expect(estimateTokens('image/png', png(4_000, 4_000))).toBe(1_600)
})

test('[FIL12] a PDF counts by its pages, and its tokens fit an integer of the API, whatever it says', () => {
  const pdf = (pages: number) => Buffer.from(`%PDF-1.7\n${'/Type /Page '.repeat(pages)}`)
  expect(estimateTokens('application/pdf', pdf(3))).toBe(6_000)
  expect(estimateTokens('application/pdf', Buffer.alloc(100_001))).toBe(3 * 2_000)
  expect(estimateTokens('application/pdf', pdf(1_100_000))).toBe(20_000_000)
})
