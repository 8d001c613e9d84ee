import { notImplemented } from '../domain/errors.ts'
import { listApiKeys } from '../store/api-keys.ts'
import { builder } from './builder.ts'
import { encodeId, Node, registerNode } from './node.ts'
import { payloadType } from './payload.ts'
import { ApiKey } from './run-refs.ts'
import { ApiScope } from './viewer.ts'

ApiKey.implement({
  description: 'A key that speaks for a tenant. Its secret is shown once, when it is made.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique, and the same for ever.',
      resolve: (key) => encodeId('ApiKey', key.id),
    }),
    name: t.exposeString('name', { description: 'What it is called: decisions carry this name.' }),
    scopes: t.field({ type: [ApiScope], description: 'What it may do.', resolve: (key) => [...key.scopes] }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used. Null where it never was.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was revoked. Null while it holds.',
    }),
  }),
})

registerNode('ApiKey', { load: (context, id) => context.loaders.apiKeys.load(id.uuid) })

builder.queryField('apiKeys', (t) =>
  t.field({
    type: [ApiKey],
    description: 'All keys of the tenant, oldest first, revoked ones included.',
    resolve: (_root, _args, { db, viewer }) => listApiKeys(db, viewer.tenantId),
  }),
)

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description: 'A key to make.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'What to call it.' }),
    scopes: t.field({ type: [ApiScope], required: true, description: 'What it may do: at least one.' }),
  }),
})

const RevokeApiKeyInput = builder.inputType('RevokeApiKeyInput', {
  description: 'Which key to revoke.',
  fields: (t) => ({ id: t.id({ required: true, description: 'The key.' }) }),
})

const CreateApiKeyPayload = builder.objectRef<{
  readonly apiKey: typeof ApiKey.$inferType
  readonly secret: string
}>('CreateApiKeyPayload')
CreateApiKeyPayload.implement({
  description: 'The key that was made, and its secret.',
  fields: (t) => ({
    apiKey: t.expose('apiKey', { type: ApiKey, description: 'The key.' }),
    secret: t.exposeString('secret', { description: 'What to send as `Authorization: Bearer …`. Not shown again.' }),
  }),
})

const RevokeApiKeyPayload = payloadType('RevokeApiKeyPayload', 'apiKey', ApiKey, 'The revoked key.')

builder.mutationFields((t) => ({
  createApiKey: t.field({
    type: CreateApiKeyPayload,
    nullable: true,
    description: 'The secret is in this answer and nowhere else.',
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'The key to make.' }) },
    resolve: () => {
      throw notImplemented('createApiKey')
    },
  }),
  revokeApiKey: t.field({
    type: RevokeApiKeyPayload,
    nullable: true,
    description: 'From now on the key is refused, and what it has open is closed.',
    args: { input: t.arg({ type: RevokeApiKeyInput, required: true, description: 'Which key.' }) },
    resolve: () => {
      throw notImplemented('revokeApiKey')
    },
  }),
}))
