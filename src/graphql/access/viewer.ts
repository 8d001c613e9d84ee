import { encodeId } from '../../domain/ids.ts'
import type { Viewer as ViewerShape } from '../../domain/access/viewer.ts'
import { Actor } from './actor.ts'
import { builder, orNull } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'

export const ApiScope = describedEnum('ApiScope', 'A permission of a key or token.', {
  READ: 'Read and subscribe.',
  RUN: 'Send, edit and regenerate messages, cancel and retry runs, manage conversations, upload files, run client tools.',
  APPROVE: 'Approve and deny tool calls.',
  MANAGE: 'Manage agents, tools, blocks, MCP servers, keys and tokens, and read the audit log.',
})

const Viewer = builder.objectRef<ViewerShape>('Viewer')
Viewer.implement({
  description: 'Who is asking, and what they may do.',
  fields: (t) => ({
    actor: t.expose('actor', { type: Actor, description: 'The key or person that is asking.' }),
    tenantId: t.id({
      description: 'Tenant of the viewer. Objects of other tenants are not found.',
      resolve: (viewer) => encodeId('Tenant', viewer.tenantId),
    }),
    keyName: t.string({
      description: 'Same as `actor.name`.',
      deprecationReason: 'Use `actor.name`. Deprecated since 2026-11-01.',
      resolve: (viewer) => viewer.actor.name,
    }),
    scopes: t.expose('scopes', {
      type: [ApiScope],
      description: 'Scopes of the key or token.',
    }),
    allowedAgentIds: t.idList({
      ...orNull('Agents that the viewer is limited to. Null means all agents of the tenant.'),
      resolve: ({ allowedAgentIds: ids }) => ids?.map((id) => encodeId('Agent', id)) ?? null,
    }),
    allowedConversationIds: t.idList({
      ...orNull('Conversations that the viewer is limited to. Null means all conversations of the allowed agents.'),
      resolve: ({ allowedConversationIds: ids }) => ids?.map((id) => encodeId('Conversation', id)) ?? null,
    }),
    expiresAt: t.expose('expiresAt', orNull('When the key or token expires. Null means never.', 'DateTime')),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({ type: Viewer, description: 'Who is asking.', resolve: (_root, _args, context) => context.viewer }),
)
