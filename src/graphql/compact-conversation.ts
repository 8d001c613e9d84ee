import { compactConversation } from '../commands/compact-conversation.ts'
import { waitForRun } from '../live/wait-for-run.ts'
import { builder } from './builder.ts'
import { CompactionSettingsInput } from './compaction.ts'
import type { Context } from './context.ts'
import { requireUuid } from './node.ts'
import { checkedWait } from '../domain/run-input.ts'
import { admissionResult, ConversationBusyRefusal, PendingApprovalRefusal, runSuccessType } from './run-results.ts'
import { WhenBusy } from './when-busy.ts'

const CompactConversationInput = builder.inputType('CompactConversationInput', {
  description: 'Which conversation to compact, and how.',
  fields: (t) => ({
    conversationId: t.id({ required: true, description: 'The conversation.' }),
    compaction: t.field({
      type: CompactionSettingsInput,
      description: "Settings for this once; what is left out is the agent's.",
    }),
    whenBusy: t.field({
      type: WhenBusy,
      required: true,
      defaultValue: 'REJECT',
      description: 'What to do where the conversation has an active run.',
    }),
    waitMs: t.int({
      required: true,
      defaultValue: 0,
      description: 'Answer once the run pauses or ends, or this long is over (at most 5 minutes). 0: at once.',
    }),
  }),
})

const CompactConversationSuccess = runSuccessType('CompactConversationSuccess', {
  description: 'The compaction takes its turn like any other run.',
  run: 'The run that compacts.',
})

const CompactConversationResult = builder.unionType('CompactConversationResult', {
  description: 'What `compactConversation` came to.',
  types: [CompactConversationSuccess, PendingApprovalRefusal, ConversationBusyRefusal],
  resolveType: (result) => result.type,
})

builder.mutationField('compactConversation', (t) =>
  t.field({
    type: CompactConversationResult,
    nullable: true,
    description: 'A run without input that compacts the context.',
    args: { input: t.arg({ type: CompactConversationInput, required: true, description: 'What to compact.' }) },
    resolve: async (_root, { input }, context) => {
      const waitMs = checkedWait('input.waitMs', input.waitMs)
      const result = await compact(context, input)
      if (result.type === 'CompactConversationSuccess') await waitForRun(context, result.runId, { waitMs })
      return result
    },
  }),
)

async function compact(context: Context, input: typeof CompactConversationInput.$inferInput) {
  const outcome = await compactConversation(context, context.viewer, {
    conversationId: requireUuid('Conversation', input.conversationId),
    compaction: input.compaction ?? {},
    whenBusy: input.whenBusy ?? 'REJECT',
  })
  return admissionResult(outcome, 'CompactConversationSuccess')
}
