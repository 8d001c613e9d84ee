import { createApiKey, type CreatedApiKey } from '../commands/create-api-key.ts'
import { revokeApiKey } from '../commands/revoke-api-key.ts'
import { listSomeApiKeys } from '../store/api-keys.ts'
import { Actor } from './actor.ts'
import { builder } from './builder.ts'
import { encodeId, Node, registerNode, requireUuid } from './node.ts'
import { payloadType } from './payload.ts'
import { ApiKey } from './run-refs.ts'
import { ApiScope } from './viewer.ts'

ApiKey.implement({
  description: 'A credential for programs. Its secret is shown once, when the key is created.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description:
        'Globally unique and permanent. The prefix names the type: agent_, conv_, run_, msg_, tool_, call_, file_ and so on.',
      resolve: (key) => encodeId('ApiKey', key.id),
    }),
    name: t.exposeString('name', { description: 'Display name. Decisions and audit entries show it.' }),
    scopes: t.field({
      type: [ApiScope],
      description: 'Scopes that the key grants.',
      resolve: (key) => [...key.scopes],
    }),
    createdBy: t.expose('createdBy', {
      type: Actor,
      nullable: true,
      description: 'Who created the key. Null if it was created on the command line.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the key was created.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key was last used, accurate to about a minute. Null if it was never used.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key expires. Null means never.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key was revoked. Null if it was not.',
    }),
  }),
})

registerNode('ApiKey', { load: (context, id) => context.loaders.apiKeys.load(id.uuid) })

builder.queryField('apiKeys', (t) =>
  t.field({
    type: [ApiKey],
    description:
      'API keys of the tenant, oldest first, including revoked ones. At most 1,000: beyond that, revoked ones are left out first, then the oldest.',
    resolve: (_root, _args, { db, viewer }) => listSomeApiKeys(db, viewer),
  }),
)

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description: 'A new API key.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Display name, 1 to 200 characters.' }),
    scopes: t.field({ type: [ApiScope], required: true, description: 'Scopes of the key: at least one.' }),
    expiresAt: t.field({ type: 'DateTime', description: 'When the key expires. Null means never.' }),
  }),
})

const RevokeApiKeyInput = builder.inputType('RevokeApiKeyInput', {
  description: 'The key to revoke.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Id of the key.' }) }),
})

const CreateApiKeyPayload = builder.objectRef<CreatedApiKey>('CreateApiKeyPayload')
CreateApiKeyPayload.implement({
  description: 'Result of `createApiKey`.',
  fields: (t) => ({
    apiKey: t.expose('apiKey', { type: ApiKey, description: 'The new key.' }),
    secret: t.exposeString('secret', {
      description: 'Secret to send as `Authorization: Bearer`. It is not shown again.',
    }),
  }),
})

const RevokeApiKeyPayload = payloadType('RevokeApiKeyPayload', 'apiKey', ApiKey, 'The revoked key.')

builder.mutationFields((t) => ({
  createApiKey: t.field({
    type: CreateApiKeyPayload,
    nullable: true,
    description: 'Creates an API key. Its secret is in this result only and cannot be read again.',
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'The new key.' }) },
    resolve: (_root, { input }, context) => {
      const { tenantId, actor } = context.viewer
      return createApiKey(context, { tenantId, createdBy: actor }, input)
    },
  }),
  revokeApiKey: t.field({
    type: RevokeApiKeyPayload,
    nullable: true,
    description: 'Revokes an API key and closes its connections.',
    args: { input: t.arg({ type: RevokeApiKeyInput, required: true, description: 'The key to revoke.' }) },
    resolve: (_root, { input }, context) => revokeApiKey(context, context.viewer, requireUuid('ApiKey', input.id)),
  }),
}))
