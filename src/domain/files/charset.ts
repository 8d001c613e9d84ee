/** The bytes 0x80 to 0x9f in Windows-1252. Some versions of Node read them as control characters. */
const windows1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

/**
 * Text in the charset that its byte order mark shows or its content type declares, otherwise in UTF-8. Undefined if the
 * declared charset is unknown and the bytes are not UTF-8.
 */
export function decodeText(bytes: Uint8Array, contentType: string): string | undefined {
  const decoder = decoderOf(charsetOf(bytes, contentType))
  if (!decoder) return decodeUtf8(bytes)
  if (decoder.encoding !== 'windows-1252') return decoder.decode(bytes)
  return Buffer.from(bytes)
    .toString('latin1')
    .replaceAll(/[\u0080-\u009f]/g, (char) => windows1252[char.charCodeAt(0) - 0x80] ?? char)
}

/** Undefined for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The same text in UTF-8, in which all text is stored. Undefined if it cannot be decoded. */
export function toUtf8(bytes: Buffer, contentType: string): Buffer | undefined {
  if (decoderOf(charsetOf(bytes, contentType))?.encoding === 'utf-8') return bytes
  const text = decodeText(bytes, contentType)
  return text === undefined ? undefined : Buffer.from(text)
}

function charsetOf(bytes: Uint8Array, contentType: string): string {
  const [first, second, third] = bytes
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1] ?? 'utf-8'
}

function decoderOf(charset: string): TextDecoder | undefined {
  try {
    return new TextDecoder(charset)
  } catch {
    return undefined
  }
}
