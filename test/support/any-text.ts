import fc from 'fast-check'

/**
 * A text of any code points, also halves of surrogate pairs. `fc.string({ unit: 'binary' })` first makes a table of a
 * million texts, which takes seconds.
 */
export function anyText({ maxLength }: { readonly maxLength: number }): fc.Arbitrary<string> {
  return fc
    .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength })
    .map((codePoints) => String.fromCodePoint(...codePoints))
}

/**
 * A text of whole characters, as a reader sees them: letters, any code points, and several code points that are one.
 */
export function readableText(length: {
  readonly minLength?: number
  readonly maxLength: number
}): fc.Arbitrary<string> {
  const letter = fc.integer({ min: 0x20, max: 0x7e }).map((point) => String.fromCodePoint(point))
  const below = fc.integer({ min: 0xa0, max: 0xd7ff })
  const above = fc.integer({ min: 0xe000, max: 0x10ffff })
  const codePoint = fc.oneof(below, above).map((point) => String.fromCodePoint(point))
  const cluster = fc.constantFrom('👩‍👩‍👧', '🇵🇹', 'e\u0301', '👍🏽', 'क्षि', '각', '\r\n')
  return fc.array(fc.oneof(letter, codePoint, cluster), length).map((characters) => characters.join(''))
}
