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
