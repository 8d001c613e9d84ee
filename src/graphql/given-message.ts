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
    SYSTEM: { description: "The system that uses the agent: the model takes it for more than a user's word." },
  } as const,
})

export const ContentPart = builder.objectRef<DomainContentPart>('ContentPart')
ContentPart.implement({
  description: 'A part of a message: text or an image.',
  fields: (t) => ({
    text: t.string({
      nullable: true,
      description: 'Set for text.',
      resolve: (part) => ('text' in part ? part.text : null),
    }),
    imageUrl: t.string({
      nullable: true,
      description: 'Set for an image: a URL or a data: URL.',
      resolve: (part) => ('imageUrl' in part ? part.imageUrl : null),
    }),
  }),
})

export const GivenMessage = builder.objectRef<DomainGivenMessage>('GivenMessage')
GivenMessage.implement({
  description: 'A message as a client gave it.',
  fields: (t) => ({
    role: t.expose('role', { type: MessageRole, description: 'Who speaks.' }),
    text: t.string({
      description: 'Its parts of text, each on a line of its own.',
      resolve: (message) => textOf(message.content),
    }),
    content: t.field({
      type: [ContentPart],
      description: 'All its parts, in order.',
      resolve: (message) => [...message.content],
    }),
    clientId: t.exposeString('clientId', {
      nullable: true,
      description: 'The id the client gave, unchanged. Null where it gave none.',
    }),
  }),
})

const ContentPartInput = builder.inputType('ContentPartInput', {
  description: 'A part of a message.',
  isOneOf: true,
  fields: (t) => ({
    text: t.string({ description: 'Text, not empty.' }),
    imageUrl: t.string({ description: 'An image: an http or https URL, or a data: URL with an image type.' }),
  }),
})

export const NewMessageInput = builder.inputType('NewMessageInput', {
  description: 'A message to send. It has either `text` or `content`.',
  fields: (t) => ({
    role: t.field({
      type: MessageRole,
      required: true,
      defaultValue: 'USER',
      description: 'Who speaks. A SYSTEM message takes text alone.',
    }),
    text: t.string({ description: 'Text, not empty; 200,000 characters at the most.' }),
    content: t.field({ type: [ContentPartInput], description: 'Parts of text and images, 50 at the most.' }),
    clientId: t.string({ description: 'An id of your own, kept unchanged; 200 characters at the most.' }),
  }),
})
