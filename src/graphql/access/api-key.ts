import { createApiKey, revokeApiKey } from '../../commands/access/create-api-key.ts'
import { createToken } from '../../commands/access/create-token.ts'
import type { ApiKey as ApiKeyShape } from '../../domain/access/api-key.ts'
import { listSomeApiKeys } from '../../store/access/api-keys.ts'
import { builder } from '../builder.ts'
import { ids, implement, int, of, string, time } from '../fields.ts'
import { idInput, mutation, payload, payloadOf } from '../mutation.ts'
import { Node, requireUuid } from '../node.ts'
import { Actor } from './actor.ts'
import { ApiScope } from './viewer.ts'

const ApiKey = builder.objectRef<ApiKeyShape>('ApiKey')
implement(ApiKey, {
  description: 'A credential for programs. Its secret is shown once, when the key is created.',
  interfaces: [Node],
  fields: () => ({
    name: string('Display name. Decisions and audit entries show it.'),
    scopes: of([ApiScope])('Scopes that the key grants.'),
    createdBy: of(Actor).orNull('Who created the key. Null if it was created on the command line.'),
    createdAt: time('When the key was created.'),
    lastUsedAt: time.orNull('When the key was last used, accurate to about a minute. Null if it was never used.'),
    expiresAt: time.orNull('When the key expires. Null means never.'),
    revokedAt: time.orNull('When the key was revoked. Null if it was not.'),
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
    fields: {
      name: string.required('Display name, 1 to 200 characters.'),
      scopes: of([ApiScope]).required('Scopes of the key: at least one.'),
      expiresAt: time('When the key expires. Null means never.'),
    },
  },
  result: payloadOf({
    apiKey: of(ApiKey)('The new key.'),
    secret: string('Secret to send as `Authorization: Bearer`. It is not shown again.'),
  }),
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
    fields: {
      subject: string.required("The application's own id for the person, 1 to 200 characters. It becomes `Actor.id`."),
      name: string('Display name, 1 to 200 characters. Defaults to `subject`.'),
      scopes: of([ApiScope]).required('Scopes of the token: at least one, and only scopes that the caller has.'),
      allowedAgentIds: ids(
        'Agents that the token is limited to. Null means all agents that the caller may use. At most 100.',
      ),
      allowedConversationIds: ids(
        'Conversations that the token is limited to. Null means all conversations of the allowed agents. At most 100.',
      ),
      expiresInSeconds: int.withDefault(
        3600,
        "How long the token is valid. Defaults to 3,600, at most 86,400. A token does not outlive the caller's own.",
      ),
    },
  },
  result: payloadOf({
    token: string('Token to send as `Authorization: Bearer`. The server does not store it.'),
    expiresAt: time('When the token expires.'),
  }),
  resolve: (input, context) =>
    createToken(context, context.viewer, {
      ...input,
      name: input.name ?? null,
      allowedAgentIds: input.allowedAgentIds?.map((id) => requireUuid('Agent', id)) ?? null,
      allowedConversationIds: input.allowedConversationIds?.map((id) => requireUuid('Conversation', id)) ?? null,
    }),
})
