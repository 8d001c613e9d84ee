import { createToken, type CreatedToken } from '../commands/access/create-token.ts'
import { builder } from './builder.ts'
import { requireUuid } from './node.ts'
import { ApiScope } from './viewer.ts'

const CreateTokenInput = builder.inputType('CreateTokenInput', {
  description: 'A new access token for a person.',
  fields: (t) => ({
    subject: t.string({
      required: true,
      description: "The application's own id for the person, 1 to 200 characters. It becomes `Actor.id`.",
    }),
    name: t.string({ description: 'Display name, 1 to 200 characters. Defaults to `subject`.' }),
    scopes: t.field({
      type: [ApiScope],
      required: true,
      description: 'Scopes of the token: at least one, and only scopes that the caller has.',
    }),
    allowedAgentIds: t.idList({
      description: 'Agents that the token is limited to. Null means all agents that the caller may use. At most 100.',
    }),
    allowedConversationIds: t.idList({
      description:
        'Conversations that the token is limited to. Null means all conversations of the allowed agents. At most 100.',
    }),
    expiresInSeconds: t.int({
      required: true,
      defaultValue: 3600,
      description:
        "How long the token is valid. Defaults to 3,600, at most 86,400. A token does not outlive the caller's own.",
    }),
  }),
})

const CreateTokenPayload = builder.objectRef<CreatedToken>('CreateTokenPayload')
CreateTokenPayload.implement({
  description: 'Result of `createToken`.',
  fields: (t) => ({
    token: t.exposeString('token', {
      description: 'Token to send as `Authorization: Bearer`. The server does not store it.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the token expires.' }),
  }),
})

builder.mutationField('createToken', (t) =>
  t.field({
    type: CreateTokenPayload,
    nullable: true,
    description:
      'Creates a short-lived access token for a person, for example for a browser. It is used like an API key.',
    args: { input: t.arg({ type: CreateTokenInput, required: true, description: 'The new token.' }) },
    resolve: (_root, { input }, context) =>
      createToken(context, context.viewer, {
        ...input,
        name: input.name ?? null,
        allowedAgentIds: input.allowedAgentIds?.map((id) => requireUuid('Agent', id)) ?? null,
        allowedConversationIds: input.allowedConversationIds?.map((id) => requireUuid('Conversation', id)) ?? null,
      }),
  }),
)
