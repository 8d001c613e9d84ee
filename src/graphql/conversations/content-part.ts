import { type ContentPart as DomainContentPart, fileOf, kindOf } from '../../domain/conversations/content.ts'
import { encodeFileId } from '../../domain/ids.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { given, id, implement, of, string } from '../fields.ts'
import { File } from '../refs.ts'

const ContentKind = describedEnum(
  'ContentKind',
  'Kind of content. Models that cannot read a kind are given a description in words.',
  {
    TEXT: 'Text.',
    IMAGE: 'An image.',
    DOCUMENT: 'A PDF, text or other file.',
  },
)

/** A part with the conversation that its file belongs to. */
interface ShownPart {
  readonly part: DomainContentPart
  readonly conversationId: string
}

export function shownParts(content: readonly DomainContentPart[], conversationId: string): ShownPart[] {
  return content.map((part) => ({ part, conversationId }))
}

/** The URL that the client gave, or that of the file. */
function urlOf({ part, conversationId }: ShownPart): string {
  if ('imageUrl' in part) return part.imageUrl
  if ('documentUrl' in part) return part.documentUrl
  return `/files/${encodeFileId({ conversationId, key: fileOf(part)!.key })}`
}

export const ContentPart = builder.objectRef<ShownPart>('ContentPart')
implement(ContentPart, {
  description: 'A part of a message or tool result. Exactly one of `text`, `imageUrl` and `documentUrl` is set.',
  fields: (t) => ({
    kind: t.field({ type: ContentKind, description: 'Kind of content.', resolve: ({ part }) => kindOf(part) }),
    text: t.field({
      ...string.orNull('TEXT: the text. Null for other kinds.'),
      resolve: ({ part }) => ('text' in part ? part.text : null),
    }),
    imageUrl: t.field({
      ...string.orNull(
        'IMAGE: URL or data URL as given, or `file.url` if the image is stored as a file. Null for other kinds.',
      ),
      resolve: (shown) => (kindOf(shown.part) === 'IMAGE' ? urlOf(shown) : null),
    }),
    documentUrl: t.field({
      ...string.orNull(
        'DOCUMENT: URL or data URL as given, or `file.url` if the document is stored as a file. Null for other kinds.',
      ),
      resolve: (shown) => (kindOf(shown.part) === 'DOCUMENT' ? urlOf(shown) : null),
    }),
    file: t.field({
      ...of(File).orNull('Stored file with the content. Null for text and for content that is not stored as a file.'),
      resolve: ({ part, conversationId }, _args, { loaders }) => {
        const key = fileOf(part)?.key
        return key === undefined ? null : loaders.files.load({ conversationId, key })
      },
    }),
  }),
})

export const ContentPartInput = builder.inputType('ContentPartInput', {
  description: 'A part of a new message or client tool result. A data URL of more than 8 KB is stored as a file.',
  isOneOf: true,
  fields: given({
    text: string('Text, 1 to 200,000 characters.'),
    imageUrl: string('Image: an http or https URL, or a base64 data URL with an image type.'),
    documentUrl: string('PDF, text or other document: an http or https URL, or a base64 data URL.'),
    fileId: id(
      'Id of a file of the same conversation. Its media type determines whether it is an image or a document.',
    ),
  }),
})
