import { storableText } from '../../util/json.ts'
import { parseDataUrl } from '../files/data-url.ts'
import { badUserInput, notFound } from '../errors.ts'
import { fileOfUrl, maxInlineUrl, newFile, referenceTo, type NewFile } from '../files/file.ts'
import { decodeId } from '../ids.ts'
import { checkedCount, checkedName, checkedText, shown } from '../input.ts'
import type { OfferedPart, OfferedUpload } from '../context/offered-content.ts'

/** Checks of the parts of messages and of client tool results. Each error names the field by its path. */

const maxParts = 50
const maxTextCharacters = 200_000

export interface PartInput {
  readonly text?: string | null | undefined
  readonly imageUrl?: string | null | undefined
  readonly documentUrl?: string | null | undefined
  readonly fileId?: string | null | undefined
}

/** Adds content that has to be stored as a file to `uploads`. */
export function checkedParts(field: string, parts: readonly PartInput[], uploads: OfferedUpload[]): OfferedPart[] {
  if (parts.length === 0) throw badUserInput(field, 'It is empty. Expected at least one part.')
  checkedCount(field, parts, { max: maxParts })
  return parts.map((part, index) => checkedPart(`${field}.${index}`, part, uploads))
}

function checkedPart(field: string, part: PartInput, uploads: OfferedUpload[]): OfferedPart {
  const { text, imageUrl, documentUrl, fileId } = part
  if (typeof text === 'string') return { text: checkedWords(`${field}.text`, text) }
  if (typeof fileId === 'string') return namedFile(`${field}.fileId`, fileId)
  const isImage = typeof imageUrl === 'string'
  const place = isImage ? `${field}.imageUrl` : `${field}.documentUrl`
  const url = checkedUrl(place, imageUrl ?? documentUrl ?? '', { isImage })
  const file = fileOfUrl(url)
  if (!file) return isImage ? { imageUrl: url } : { documentUrl: url }
  uploads.push({ file, field: place })
  return isImage ? { image: referenceTo(file) } : { document: referenceTo(file) }
}

/** Models refuse text that is only white space. */
export function checkedWords(field: string, value: string): string {
  const text = checkedText(field, value, { max: maxTextCharacters })
  if (text.trim() === '') throw badUserInput(field, 'It is empty. Expected text that is not only white space.')
  return text
}

function namedFile(field: string, id: string): OfferedPart {
  const decoded = decodeId(id)
  if (decoded?.kind !== 'File') throw notFound('file', id)
  const { conversationId, key } = decoded
  return { file: { conversationId, key }, id, field }
}

function checkedUrl(field: string, value: string, { isImage }: { readonly isImage: boolean }): string {
  const data = /^data:/i.test(value) ? parseDataUrl(value) : undefined
  if (data && (!isImage || data.mediaType.startsWith('image/'))) return storableText(value)
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) {
    if (value.length <= maxInlineUrl) return storableText(value)
    throw badUserInput(field, `It has ${value.length} characters. A URL has at most ${maxInlineUrl}.`)
  }
  const noun = isImage ? 'an image' : 'a document'
  const expected = isImage
    ? 'data:image/…;base64,…'
    : 'data:application/pdf;base64,… or another base64 data URL. Text must be in UTF-8 or in a charset that the URL declares and the server knows'
  throw badUserInput(
    field,
    `${shown(value)} is not the address of ${noun}. Expected an http or https URL, or ${expected}.`,
  )
}

/** The content of an upload. */
export function checkedUpload(dataUrl: string, name: string | null | undefined): NewFile {
  const data = parseDataUrl(dataUrl)
  if (!data) {
    const expected =
      'Expected a base64 data URL with a media type, such as data:application/pdf;base64,…. Text must be in UTF-8 or in a charset that the URL declares and the server knows.'
    throw badUserInput('input.dataUrl', `${shown(dataUrl)} is not a data URL with content. ${expected}`)
  }
  const checked = name === null || name === undefined ? null : checkedName('input.name', name, { max: 200 })
  return newFile({ mediaType: data.mediaType, name: checked, bytes: Buffer.from(data.base64, 'base64') })
}
