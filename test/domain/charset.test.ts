import { expect, test } from 'vitest'

import { decodeText, toUtf8 } from '../../src/domain/files/charset.ts'
import { parseDataUrl } from '../../src/domain/files/data-url.ts'

const utf16 = (text: string) => Buffer.from(text, 'utf16le')
const mark = Buffer.from('\ufeff')

test.each([
  ['text/plain', Buffer.from('Müß €'), 'Müß €'],
  ['text/plain; charset=utf-8', Buffer.from('Müß'), 'Müß'],
  ['text/plain; charset=iso-8859-1', Buffer.from('Müß', 'latin1'), 'Müß'],
  ['text/plain;CHARSET="Windows-1252" ;x=y', Buffer.from([0x80, 0x93, 0x8d, 0x9f, 0xe4]), '€“\u008dŸä'],
  ['application/json; charset=us-ascii', Buffer.from('{}'), '{}'],
  ['text/csv; charset=shift_jis', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), '日本'],
  ['text/csv; charset=utf-16le', utf16('a👋'), 'a👋'],
  ['text/csv; charset=utf-16', utf16('\ufeffa'), 'a'],
  ['text/csv; charset=utf-16be', utf16('\ufeffab').swap16(), 'ab'],
  // A byte order mark is more reliable than what a server declares for all of its files.
  ['text/csv; charset=iso-8859-1', Buffer.concat([mark, Buffer.from('ü')]), 'ü'],
  ['text/csv; charset=utf-8', utf16('\ufeffü'), 'ü'],
  ['text/csv', utf16('\ufeffü').swap16(), 'ü'],
  // What does not fit the charset is replaced.
  ['text/plain; charset=utf-8', Buffer.from('ü', 'latin1'), '\ufffd'],
  ['text/plain; charset=utf-16le', Buffer.from([0x61, 0, 0xd8]), 'a\ufffd'],
  // Names that no server should use, for text that is UTF-8 nevertheless.
  ['text/plain; charset=utf8mb4', Buffer.from('ü'), 'ü'],
  ['text/plain; charset=', Buffer.from('ü'), 'ü'],
  ['text/plain; charset=utf-7', Buffer.from('ü', 'latin1'), undefined],
])('[FIL66] text of the type %s is decoded (%#)', (contentType, bytes, text) => {
  expect(decodeText(bytes, contentType)).toBe(text)
  const again = toUtf8(bytes, contentType)
  expect(again && new TextDecoder().decode(again)).toBe(text)
})

test('[FIL66] only text is decoded', () => {
  const url = (type: string) => `data:${type};base64,${utf16('\ufeffü').toString('base64')}`
  expect(parseDataUrl(url('text/plain'))?.base64).toBe(Buffer.from('ü').toString('base64'))
  const binary = url('image/png;charset=iso-8859-1')
  expect(parseDataUrl(binary)?.base64).toBe(binary.split(',')[1])
})
