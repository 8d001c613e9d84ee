import { watchInbox, type InboxEvent } from '../../live/watch-inbox.ts'
import { builder } from '../builder.ts'
import { requireAgents } from '../load-existing.ts'
import { ToolCall } from '../refs.ts'
import { ToolCallNeed } from '../tools/tool-call.ts'

const InboxSnapshot = builder.objectRef<Extract<InboxEvent, { type: 'InboxSnapshot' }>>('InboxSnapshot')
InboxSnapshot.implement({
  description:
    'The calls that wait now. This is the first event after every connect, even if no call waits. Replace everything that you have.',
  fields: (t) => ({
    toolCalls: t.field({
      type: [ToolCall],
      description: 'Up to 200 of the calls that wait, oldest first. The others follow as InboxAdded.',
      resolve: (snapshot) => snapshot.toolCalls,
    }),
    totalCount: t.exposeInt('totalCount', { description: 'How many calls wait, including those that are not listed.' }),
  }),
})

type InboxChange = Extract<InboxEvent, { type: 'InboxAdded' | 'InboxRemoved' }>

const InboxAdded = builder.objectRef<InboxChange>('InboxAdded')
InboxAdded.implement({
  description:
    'A call waits. It is sent again when a waiting call was claimed, or got one of several approvals: replace the call that you have.',
  fields: (t) => ({ toolCall: t.expose('toolCall', { type: ToolCall, description: 'The call that waits.' }) }),
})

const InboxRemoved = builder.objectRef<InboxChange>('InboxRemoved')
InboxRemoved.implement({
  description: 'A call no longer waits.',
  fields: (t) => ({
    toolCall: t.expose('toolCall', { type: ToolCall, description: 'The call, in its current state.' }),
  }),
})

const ApprovalInboxEvent = builder.unionType('ApprovalInboxEvent', {
  description: 'A snapshot of the calls that wait, or a change of that list.',
  types: [InboxSnapshot, InboxAdded, InboxRemoved],
  resolveType: (event) => event.type,
})

builder.subscriptionField('approvalInbox', (t) =>
  t.field({
    type: ApprovalInboxEvent,
    description: 'A snapshot of the calls that wait, then each change. It does not end by itself.',
    args: {
      agentIds: t.arg.idList({ description: 'Only calls of these agents. Omit it for calls of all agents.' }),
      needs: t.arg({
        type: [ToolCallNeed],
        required: true,
        defaultValue: ['APPROVAL'],
        description: 'Only calls that wait for one of these. Defaults to APPROVAL.',
      }),
    },
    subscribe: async (_root, { agentIds, needs }, context) => {
      const filter = { agentIds: await requireAgents(context, agentIds), needs }
      return watchInbox(context, context.viewer, filter)
    },
    resolve: (event) => event,
  }),
)
