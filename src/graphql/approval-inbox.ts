import { watchInbox, type InboxEvent } from '../live/watch-inbox.ts'
import { builder } from './builder.ts'
import { requireAgents } from './load-existing.ts'
import { ToolCall } from './run-refs.ts'
import { ToolCallNeed } from './tool-call.ts'

const InboxSnapshot = builder.objectRef<Extract<InboxEvent, { type: 'InboxSnapshot' }>>('InboxSnapshot')
InboxSnapshot.implement({
  description: 'Comes first after every connect, also when empty: replace all that you had.',
  fields: (t) => ({
    toolCalls: t.field({
      type: [ToolCall],
      description: 'What waits, oldest first.',
      resolve: (snapshot) => [...snapshot.toolCalls],
    }),
    totalCount: t.exposeInt('totalCount', { description: 'How many calls wait, whether listed or not.' }),
  }),
})

type InboxChange = Extract<InboxEvent, { type: 'InboxAdded' | 'InboxRemoved' }>

const InboxAdded = builder.objectRef<InboxChange>('InboxAdded')
InboxAdded.implement({
  description: 'A call waits.',
  fields: (t) => ({ toolCall: t.expose('toolCall', { type: ToolCall, description: 'The call.' }) }),
})

const InboxRemoved = builder.objectRef<InboxChange>('InboxRemoved')
InboxRemoved.implement({
  description: 'A call waits no longer.',
  fields: (t) => ({ toolCall: t.expose('toolCall', { type: ToolCall, description: 'The call, as it is now.' }) }),
})

const ApprovalInboxEvent = builder.unionType('ApprovalInboxEvent', {
  description: 'What waits, or a change of it.',
  types: [InboxSnapshot, InboxAdded, InboxRemoved],
  resolveType: (event) => event.type,
})

builder.subscriptionField('approvalInbox', (t) =>
  t.field({
    type: ApprovalInboxEvent,
    description: 'A snapshot of what waits, then each change.',
    args: {
      agentIds: t.arg.idList({ description: 'Only calls of these agents.' }),
      needs: t.arg({
        type: [ToolCallNeed],
        required: true,
        defaultValue: ['APPROVAL'],
        description: 'Only calls that wait for one of these.',
      }),
    },
    subscribe: async (_root, { agentIds, needs }, context) => {
      const filter = { agentIds: await requireAgents(context, agentIds), needs }
      return watchInbox(context, context.viewer.tenantId, filter)
    },
    resolve: (event) => event,
  }),
)
