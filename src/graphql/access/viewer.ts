import type { Viewer as ViewerShape } from '../../domain/access/viewer.ts'
import { builder } from '../builder.ts'
import type { RateLimit as RateLimitShape } from '../context.ts'
import { describedEnum } from '../described-enum.ts'
import { idOf, idsOf, implement, int, of, time } from '../fields.ts'
import { Actor } from './actor.ts'

export const ApiScope = describedEnum('ApiScope', 'A permission of a key or token.', {
  READ: 'Read and subscribe.',
  RUN: 'Send, edit and regenerate messages, cancel and retry runs, manage conversations, upload files, run client tools.',
  APPROVE: 'Approve and deny tool calls.',
  MANAGE: 'Manage agents, tools, blocks, MCP servers, keys and tokens, and read the audit log.',
})

const Viewer = builder.objectRef<ViewerShape>('Viewer')
implement(Viewer, {
  description: 'Who is asking, and what they may do.',
  fields: (t) => ({
    actor: of(Actor)('The key or person that is asking.'),
    tenantId: idOf('Tenant', 'tenantId', 'Tenant of the viewer. Objects of other tenants are not found.'),
    keyName: t.string({
      description: 'Same as `actor.name`.',
      deprecationReason: 'Use `actor.name`. Deprecated since 2026-11-01.',
      resolve: (viewer) => viewer.actor.name,
    }),
    scopes: of([ApiScope])('Scopes of the key or token.'),
    allowedAgentIds: idsOf(
      'Agent',
      'allowedAgentIds',
      'Agents that the viewer is limited to. Null means all agents of the tenant.',
    ),
    allowedConversationIds: idsOf(
      'Conversation',
      'allowedConversationIds',
      'Conversations that the viewer is limited to. Null means all conversations of the allowed agents.',
    ),
    expiresAt: time.orNull('When the key or token expires. Null means never.'),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({ type: Viewer, description: 'Who is asking.', resolve: (_root, _args, context) => context.viewer }),
)

const RateLimit = builder.objectRef<RateLimitShape>('RateLimit')
implement(RateLimit, {
  description: 'What the limits leave to a viewer, and what an operation costs.',
  fields: () => ({
    cost: int('Cost of this operation: the fields of its result if every list is full.'),
    costLimit: int('The most that one operation may cost.'),
    requestsPerSecond: int.orNull(
      'Requests per second that the key may send to this process. Null if they are not limited.',
    ),
    remaining: int.orNull(
      'Requests that this process would accept from the key at this moment: at most what two seconds allow. Null if they are not limited.',
    ),
  }),
})

builder.queryField('rateLimit', (t) =>
  t.field({
    type: RateLimit,
    description:
      'What the limits leave to this viewer, and what this operation costs. With the header `x-holdpoint-cost: 1`, every answer has the same in `extensions.cost`.',
    resolve: (_root, _args, { rateLimit }) => rateLimit!(),
  }),
)
