import { builder } from './builder.ts'
import { Conversation } from './conversation.ts'
import { loadExisting } from './load-existing.ts'

/** The outcomes of mutations on conversations. `type` is the name of the GraphQL type. */
export interface ConversationSuccess<Name extends string> {
  readonly type: Name
  readonly conversationId: string
}

export function conversationSuccessType<Name extends string>(
  name: Name,
  { description, conversation }: { readonly description: string; readonly conversation: string },
) {
  const Success = builder.objectRef<ConversationSuccess<Name>>(name)
  Success.implement({
    description,
    fields: (t) => ({
      conversation: t.field({
        type: Conversation,
        description: conversation,
        resolve: ({ conversationId }, _args, { loaders }) =>
          loadExisting(loaders.conversations, 'Conversation', conversationId),
      }),
    }),
  })
  return Success
}

export function conversationResult<Name extends string>(type: Name, conversationId: string): ConversationSuccess<Name> {
  return { type, conversationId }
}
