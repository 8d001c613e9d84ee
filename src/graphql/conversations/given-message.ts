import { textOf } from '../../domain/conversations/content.ts'
import type { GivenMessage as DomainGivenMessage } from '../../domain/conversations/message.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { given, implement, of, string } from '../fields.ts'
import { ContentPart, ContentPartInput, shownParts } from './content-part.ts'

const MessageRole = describedEnum('MessageRole', 'Who speaks in a message that a client sends.', {
  USER: 'The user.',
  SYSTEM: 'The application that uses the agent.',
})

/** A message of a run in the given conversation. */
export const GivenMessage = builder.objectRef<DomainGivenMessage & { readonly conversationId: string }>('GivenMessage')
implement(GivenMessage, {
  description: 'A message as the client sent it.',
  fields: (t) => ({
    role: of(MessageRole)('Who speaks.'),
    text: t.string({
      description: 'Text parts of the message, joined by line breaks. Empty if there are none.',
      resolve: (message) => textOf(message.content),
    }),
    content: t.field({
      ...of([ContentPart])('All parts of the message, in order.'),
      resolve: (message) => shownParts(message.content, message.conversationId),
    }),
    clientId: string.orNull('Id that the client gave the message. Null if it gave none.'),
  }),
})

export const NewMessageInput = builder.inputType('NewMessageInput', {
  description: 'A new message. Give either `text` or `content`.',
  fields: given({
    role: of(MessageRole).withDefault('USER', 'Who speaks. Defaults to USER. A SYSTEM message contains text only.'),
    text: string('Text, 1 to 200,000 characters.'),
    content: of([ContentPartInput])('Parts of the message: 1 to 50.'),
    clientId: string("The client's own id for the message, 1 to 200 characters. It is stored unchanged."),
  }),
})
