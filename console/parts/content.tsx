import type { ReactNode } from 'react'

import type { MessageFields } from '../../client/documents.ts'
import { MessageImage } from './message-image.tsx'

type Part = Extract<MessageFields, { readonly __typename: 'UserMessage' }>['content'][number]

/** The parts of a message as they were given. Text is not rendered as Markdown. */
export function Content({ parts, text }: { readonly parts: readonly Part[]; readonly text: string }): ReactNode {
  if (parts.every((part) => part.imageUrl === null)) return text
  return parts.map((part, index) =>
    part.imageUrl === null ? <p key={index}>{part.text}</p> : <MessageImage key={index} url={part.imageUrl} />,
  )
}
