import { notImplemented } from '../domain/errors.ts'
import { builder } from './builder.ts'
import { CompactionSettingsInput } from './compaction.ts'
import { ConversationBusyRefusal, PendingApprovalRefusal, runSuccessType } from './run-results.ts'
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
    resolve: () => {
      throw notImplemented('compactConversation')
    },
  }),
)
