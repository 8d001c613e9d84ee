import { encodeId } from '../domain/ids.ts'
import type { Viewer as ViewerShape } from '../domain/viewer.ts'
import { builder } from './builder.ts'

export const ApiScope = builder.enumType('ApiScope', {
  description: 'What a key may do.',
  values: {
    READ: { description: 'Read everything, and watch it.' },
    RUN: { description: 'Send, cancel, retry, and give results of client tools.' },
    APPROVE: { description: 'Decide what waits for approval.' },
    MANAGE: { description: 'Agents, tools, blocks, keys.' },
  } as const,
})

const Viewer = builder.objectRef<ViewerShape>('Viewer')
Viewer.implement({
  description: 'Who asks.',
  fields: (t) => ({
    tenantId: t.id({
      description: 'Whose data it is. Nothing of another tenant can be seen.',
      resolve: (viewer) => encodeId('Tenant', viewer.tenantId),
    }),
    keyName: t.exposeString('keyName', { description: 'The name of the key that was used.' }),
    scopes: t.field({ type: [ApiScope], description: 'What it may do.', resolve: (viewer) => [...viewer.scopes] }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({ type: Viewer, description: 'Who asks.', resolve: (_root, _args, context) => context.viewer }),
)
