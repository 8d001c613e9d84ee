import { compactConversation } from '../../commands/context/compact-conversation.ts'
import { checkedWait } from '../../domain/runs/run-input.ts'
import { mutation, outcomes } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { waitMsField, whenBusyField } from '../runs/run-arguments.ts'
import {
  admissionResult,
  ConversationBusyRefusal,
  PendingApprovalRefusal,
  runSuccessType,
} from '../runs/run-results.ts'
import { CompactionSettingsInput } from './compaction.ts'

const CompactConversationSuccess = runSuccessType('CompactConversationSuccess', {
  description: 'The compaction will be processed.',
  run: 'Run that compacts the conversation.',
})

mutation('compactConversation', {
  description: 'Starts a run without input that compacts the context of a conversation.',
  input: {
    description: 'A conversation to compact.',
    fields: (t) => ({
      conversationId: t.id({ required: true, description: 'Id of the conversation.' }),
      compaction: t.field({
        type: CompactionSettingsInput,
        description: "Settings for this compaction only. Omitted settings default to the agent's.",
      }),
      whenBusy: t.field(whenBusyField),
      waitMs: t.int(waitMsField),
    }),
  },
  result: outcomes([CompactConversationSuccess, PendingApprovalRefusal, ConversationBusyRefusal]),
  async resolve(input, context) {
    const waitMs = checkedWait('input.waitMs', input.waitMs)
    const outcome = await compactConversation(context, context.viewer, {
      conversationId: requireUuid('Conversation', input.conversationId),
      compaction: input.compaction ?? {},
      whenBusy: input.whenBusy,
    })
    return admissionResult(context, outcome, { success: 'CompactConversationSuccess', waitMs })
  },
})
