import { createApiKey, revokeApiKey, type CreatedApiKey } from '../../commands/access/create-api-key.ts'
import { listSomeApiKeys } from '../../store/access/api-keys.ts'
import { Actor } from './actor.ts'
import { builder, orNull } from '../builder.ts'
import { idInput, mutation, payload, payloadOf } from '../mutation.ts'
import { Node, requireUuid } from '../node.ts'
import { ApiKey } from '../refs.ts'
import { ApiScope } from './viewer.ts'
import { createToken, type CreatedToken } from '../../commands/access/create-token.ts'

ApiKey.implement({
  description: 'A credential for programs. Its secret is shown once, when the key is created.',
  interfaces: [Node],
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Display name. Decisions and audit entries show it.' }),
    scopes: t.expose('scopes', {
      type: [ApiScope],
      description: 'Scopes that the key grants.',
    }),
    createdBy: t.expose('createdBy', orNull('Who created the key. Null if it was created on the command line.', Actor)),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the key was created.' }),
    lastUsedAt: t.expose(
      'lastUsedAt',
      orNull('When the key was last used, accurate to about a minute. Null if it was never used.', 'DateTime'),
    ),
    expiresAt: t.expose('expiresAt', orNull('When the key expires. Null means never.', 'DateTime')),
    revokedAt: t.expose('revokedAt', orNull('When the key was revoked. Null if it was not.', 'DateTime')),
  }),
})

builder.queryField('apiKeys', (t) =>
  t.field({
    type: [ApiKey],
    description:
      'API keys of the tenant, oldest first, including revoked ones. At most 1,000: beyond that, revoked ones are left out first, then the oldest.',
    resolve: (_root, _args, { db, viewer }) => listSomeApiKeys(db, viewer),
  }),
)

mutation('createApiKey', {
  description: 'Creates an API key. Its secret is in this result only and cannot be read again.',
  input: {
    description: 'A new API key.',
    fields: (t) => ({
      name: t.string({ required: true, description: 'Display name, 1 to 200 characters.' }),
      scopes: t.field({ type: [ApiScope], required: true, description: 'Scopes of the key: at least one.' }),
      expiresAt: t.field({ type: 'DateTime', description: 'When the key expires. Null means never.' }),
    }),
  },
  result: payloadOf<CreatedApiKey>((t) => ({
    apiKey: t.expose('apiKey', { type: ApiKey, description: 'The new key.' }),
    secret: t.exposeString('secret', {
      description: 'Secret to send as `Authorization: Bearer`. It is not shown again.',
    }),
  })),
  resolve: (input, context) => {
    const { tenantId, actor } = context.viewer
    return createApiKey(context, { tenantId, createdBy: actor }, input)
  },
})

mutation('revokeApiKey', {
  description: 'Revokes an API key and closes its connections.',
  input: idInput('ApiKey', 'The key to revoke.'),
  result: payload('apiKey', ApiKey, 'The revoked key.'),
  resolve: ({ id }, context) => revokeApiKey(context, context.viewer, requireUuid('ApiKey', id)),
})

mutation('createToken', {
  description:
    'Creates a short-lived access token for a person, for example for a browser. It is used like an API key.',
  input: {
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
  },
  result: payloadOf<CreatedToken>((t) => ({
    token: t.exposeString('token', {
      description: 'Token to send as `Authorization: Bearer`. The server does not store it.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the token expires.' }),
  })),
  resolve: (input, context) =>
    createToken(context, context.viewer, {
      ...input,
      name: input.name ?? null,
      allowedAgentIds: input.allowedAgentIds?.map((id) => requireUuid('Agent', id)) ?? null,
      allowedConversationIds: input.allowedConversationIds?.map((id) => requireUuid('Conversation', id)) ?? null,
    }),
})
