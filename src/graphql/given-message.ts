import {
  textOf,
  type ContentPart as DomainContentPart,
  type GivenMessage as DomainGivenMessage,
} from '../domain/message.ts'
import { builder } from './builder.ts'

const MessageRole = builder.enumType('MessageRole', {
  description: 'Who speaks in a message that a client sends.',
  values: {
    USER: { description: 'The user.' },
    SYSTEM: { description: 'The application that uses the agent.' },
  } as const,
})

export const ContentPart = builder.objectRef<DomainContentPart>('ContentPart')
ContentPart.implement({
  description: 'A part of a message or tool result. Exactly one of `text`, `imageUrl` and `documentUrl` is set.',
  fields: (t) => ({
    text: t.string({
      nullable: true,
      description: 'TEXT: the text. Null for other kinds.',
      resolve: (part) => ('text' in part ? part.text : null),
    }),
    imageUrl: t.string({
      nullable: true,
      description:
        'IMAGE: URL or data URL as given, or `file.url` if the image is stored as a file. Null for other kinds.',
      resolve: (part) => ('imageUrl' in part ? part.imageUrl : null),
    }),
  }),
})

export const GivenMessage = builder.objectRef<DomainGivenMessage>('GivenMessage')
GivenMessage.implement({
  description: 'A message as the client sent it.',
  fields: (t) => ({
    role: t.expose('role', { type: MessageRole, description: 'Who speaks.' }),
    text: t.string({
      description: 'Text parts of the message, joined by line breaks. Empty if there are none.',
      resolve: (message) => textOf(message.content),
    }),
    content: t.field({
      type: [ContentPart],
      description: 'All parts of the message, in order.',
      resolve: (message) => [...message.content],
    }),
    clientId: t.exposeString('clientId', {
      nullable: true,
      description: 'Id that the client gave the message. Null if it gave none.',
    }),
  }),
})

const ContentPartInput = builder.inputType('ContentPartInput', {
  description: 'A part of a new message or client tool result. A data URL of more than 8 KB is stored as a file.',
  isOneOf: true,
  fields: (t) => ({
    text: t.string({ description: 'Text, 1 to 200,000 characters.' }),
    imageUrl: t.string({ description: 'Image: an http or https URL, or a base64 data URL with an image type.' }),
  }),
})

export const NewMessageInput = builder.inputType('NewMessageInput', {
  description: 'A new message. Give either `text` or `content`.',
  fields: (t) => ({
    role: t.field({
      type: MessageRole,
      required: true,
      defaultValue: 'USER',
      description: 'Who speaks. Defaults to USER. A SYSTEM message contains text only.',
    }),
    text: t.string({ description: 'Text, 1 to 200,000 characters.' }),
    content: t.field({ type: [ContentPartInput], description: 'Parts of the message: 1 to 50.' }),
    clientId: t.string({
      description: "The client's own id for the message, 1 to 200 characters. It is stored unchanged.",
    }),
  }),
})
