import { type InboxEvent, watchInbox } from '../../live/watch-inbox.ts'
import { builder } from '../builder.ts'
import { args, ids, implement, int, of } from '../fields.ts'
import { requireAgents } from '../load-existing.ts'
import { ToolCall } from '../refs.ts'
import { ToolCallNeed } from '../tools/tool-call.ts'

const InboxSnapshot = builder.objectRef<Extract<InboxEvent, { type: 'InboxSnapshot' }>>('InboxSnapshot')
implement(InboxSnapshot, {
  description:
    'The calls that wait now. This is the first event after every connect, even if no call waits. Replace everything that you have.',
  fields: (t) => ({
    toolCalls: t.field({
      ...of([ToolCall])('Up to 200 of the calls that wait, oldest first. The others follow as InboxAdded.'),
      resolve: (snapshot) => snapshot.toolCalls,
    }),
    totalCount: int('How many calls wait, including those that are not listed.'),
  }),
})

type InboxChange = Extract<InboxEvent, { type: 'InboxAdded' | 'InboxRemoved' }>

const InboxAdded = builder.objectRef<InboxChange>('InboxAdded')
implement(InboxAdded, {
  description:
    'A call waits. It is sent again when a waiting call was claimed, or got one of several approvals: replace the call that you have.',
  fields: () => ({ toolCall: of(ToolCall)('The call that waits.') }),
})

const InboxRemoved = builder.objectRef<InboxChange>('InboxRemoved')
implement(InboxRemoved, {
  description: 'A call no longer waits.',
  fields: () => ({
    toolCall: of(ToolCall)('The call, in its current state.'),
  }),
})

const ApprovalInboxEvent = builder.unionType('ApprovalInboxEvent', {
  description: 'A snapshot of the calls that wait, or a change of that list.',
  types: [InboxSnapshot, InboxAdded, InboxRemoved],
  resolveType: (event) => event.type,
})

builder.subscriptionField('approvalInbox', (t) =>
  t.field({
    ...of(ApprovalInboxEvent)('A snapshot of the calls that wait, then each change. It does not end by itself.'),
    args: args({
      agentIds: ids('Only calls of these agents. Omit it for calls of all agents.'),
      needs: of([ToolCallNeed]).withDefault(
        ['APPROVAL'],
        'Only calls that wait for one of these. Defaults to APPROVAL.',
      ),
    }),
    subscribe: async (_root, { agentIds, needs }, context) => {
      const filter = { agentIds: await requireAgents(context, agentIds), needs }
      return watchInbox(context, context.viewer, filter)
    },
    resolve: (event) => event,
  }),
)
