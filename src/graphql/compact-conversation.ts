import { compactConversation } from '../commands/compact-conversation.ts'
import { waitForRun } from '../live/wait-for-run.ts'
import { builder } from './builder.ts'
import { CompactionSettingsInput } from './context/compaction.ts'
import type { Context } from './context.ts'
import { requireUuid } from './node.ts'
import { checkedWait } from '../domain/runs/run-input.ts'
import { admissionResult, ConversationBusyRefusal, PendingApprovalRefusal, runSuccessType } from './run-results.ts'
import { WhenBusy } from './when-busy.ts'

const CompactConversationInput = builder.inputType('CompactConversationInput', {
  description: 'A conversation to compact.',
  fields: (t) => ({
    conversationId: t.id({ required: true, description: 'Id of the conversation.' }),
    compaction: t.field({
      type: CompactionSettingsInput,
      description: "Settings for this compaction only. Omitted settings default to the agent's.",
    }),
    whenBusy: t.field({
      type: WhenBusy,
      required: true,
      defaultValue: 'REJECT',
      description: 'What to do if the conversation has an active run. Defaults to REJECT.',
    }),
    waitMs: t.int({
      required: true,
      defaultValue: 0,
      description: 'How long to wait for the run to pause or end before answering. Defaults to 0, at most 300,000.',
    }),
  }),
})

const CompactConversationSuccess = runSuccessType('CompactConversationSuccess', {
  description: 'The compaction will be processed.',
  run: 'Run that compacts the conversation.',
})

const CompactConversationResult = builder.unionType('CompactConversationResult', {
  description: 'Result of `compactConversation`.',
  types: [CompactConversationSuccess, PendingApprovalRefusal, ConversationBusyRefusal],
  resolveType: (result) => result.type,
})

builder.mutationField('compactConversation', (t) =>
  t.field({
    type: CompactConversationResult,
    nullable: true,
    description: 'Starts a run without input that compacts the context of a conversation.',
    args: {
      input: t.arg({ type: CompactConversationInput, required: true, description: 'A conversation to compact.' }),
    },
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
