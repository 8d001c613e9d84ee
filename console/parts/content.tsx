import type { ReactNode } from 'react'

import type { AttachmentFields, ContentFields } from '../../client/documents.ts'
import { isPicture } from '../data/stored-file.ts'
import { DataFile } from './data-file.tsx'
import { MessageImage } from './message-image.tsx'
import { SafeLink } from './safe-link.tsx'
import { StoredFile } from './stored-file.tsx'
import { StoredImage } from './stored-image.tsx'

/** The parts of a message as they were given. Text is not rendered as Markdown. */
export function Content({
  parts,
  text,
}: {
  readonly parts: readonly ContentFields[]
  readonly text: string
}): ReactNode {
  if (parts.every(({ kind }) => kind === 'TEXT')) return text
  return parts.map((part, index) =>
    part.kind === 'TEXT' ? <p key={index}>{part.text}</p> : <Part key={index} part={part} />,
  )
}

/** The images and documents among the parts of a result. Its text is shown apart. */
export function Attachments({ parts }: { readonly parts: readonly AttachmentFields[] }): ReactNode {
  const attached = parts.filter(({ kind }) => kind !== 'TEXT')
  if (attached.length === 0) return null
  return (
    <div className="attachments">
      {attached.map((part, index) => (
        <Part key={index} part={part} />
      ))}
    </div>
  )
}

function Part({ part: { file, imageUrl, documentUrl } }: { readonly part: AttachmentFields }): ReactNode {
  if (file) return isPicture(file.mediaType) ? <StoredImage file={file} /> : <StoredFile file={file} />
  if (imageUrl !== null) return <MessageImage url={imageUrl} />
  if (documentUrl === null) return null
  if (documentUrl.startsWith('data:')) return <DataFile url={documentUrl} />
  return <SafeLink href={documentUrl}>Document: {documentUrl}</SafeLink>
}
