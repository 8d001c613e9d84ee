import fc from 'fast-check'
import { Lexer } from 'marked'
import { expect, test } from 'vitest'

import { createBlockReader } from '../../console/data/markdown-blocks.ts'
import { longer } from '../support/long.ts'

const pieces = [
  'word ',
  'two words',
  '\n',
  '\n\n',
  '- item\n',
  '  - inner\n',
  '1. one\n',
  '# Title\n',
  '```js\n',
  '```\n',
  '> quote\n',
]
const more = [
  '| a | b |\n',
  '|---|---|\n',
  '---\n',
  '    code\n',
  '<b>html</b>\n',
  '\r\n',
  '\t',
  '**bold',
  '**',
  '`code`',
  '[a]: http://x\n',
]

test('[CON14] the blocks of an answer that grows are those of the whole answer', () => {
  const outline = (tokens: readonly { type: string; raw: string }[]) => tokens.map(({ type, raw }) => [type, raw])
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces, ...more), { maxLength: 40 }), (parts) => {
      const read = createBlockReader()
      let text = ''
      for (const part of parts) {
        text += part
        expect(outline(read(text))).toEqual(outline(new Lexer({ gfm: true }).lex(text)))
      }
    }),
    { numRuns: longer(200, 2_000) },
  )
})
