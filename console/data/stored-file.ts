import type { AttachmentFields } from '../../client/documents.ts'
import { reach } from './reach.ts'
import { currentKey } from './session.ts'

export type StoredFileFields = NonNullable<AttachmentFields['file']>

/** Whether a browser shows this type as an image, and it cannot contain a script. */
export function isPicture(mediaType: string): boolean {
  return /^image\/(png|jpeg|gif|webp)$/.test(mediaType)
}

/** Loads the content of a stored file. An `img` or a link could not, because it needs the key. */
export async function loadFile(url: string, signal?: AbortSignal): Promise<Blob> {
  const key = currentKey()
  const headers: HeadersInit = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const response = await reach(fetch(url, { headers, ...(signal && { signal }) }))
  if (!response.ok) throw new Error(response.status === 404 ? 'The file is gone.' : 'The file cannot be loaded.')
  return response.blob()
}

/** Lets the browser save the content under this name. */
export function saveBlob(blob: Blob, name: string): void {
  // Never a type that a browser would open as a page of this origin.
  const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The download has started by then and no longer needs the address.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** The content of a base64 data URL. */
export function blobOf(dataUrl: string): Blob {
  const data = dataUrl.slice(dataUrl.indexOf(',') + 1)
  return new Blob([Uint8Array.from(atob(data), (char) => char.charCodeAt(0))])
}

/** A file of this machine as a base64 data URL. */
export function readAsDataUrl(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => {
      // The URL of a file of unknown type has no media type, but the server requires one.
      resolve((reader.result as string).replace(/^data:(?=[;,])/, 'data:application/octet-stream'))
    })
    reader.addEventListener('error', () => reject(new Error('The browser cannot read this file.')))
    reader.readAsDataURL(file)
  })
}
