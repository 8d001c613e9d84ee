import { expect, test } from 'vitest'

import { cutText, storableJsonText } from '../../src/util/json.ts'

test('[ENG6] a text that is cut never ends with half of a surrogate pair', () => {
  expect(cutText('ab👋c', 2)).toBe('ab')
  expect(cutText('ab👋c', 3)).toBe('ab\ufffd')
  expect(cutText('ab👋c', 4)).toBe('ab👋')
})

test('[ENG6] JSON to be stored has neither NUL nor half of a surrogate pair, and is otherwise unchanged', () => {
  for (const value of [{ text: '👋 \\ud83d \\u0000', list: [1, null, true] }, []])
    expect(storableJsonText(value)).toBe(JSON.stringify(value))
  const at = new Date(0)
  expect(
    JSON.parse(storableJsonText({ at, texts: ['a\u0000b', '\ud83d', '\udc4b👋'], 'k\u0000': [{ '\ud83d': 1 }] })),
  ).toEqual({
    at: at.toISOString(),
    texts: ['ab', '\ufffd', '\ufffd👋'],
    k: [{ '\ufffd': 1 }],
  })
})
