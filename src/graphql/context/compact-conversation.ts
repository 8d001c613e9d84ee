import { compactConversation } from '../../commands/context/compact-conversation.ts'
import { checkedWait } from '../../domain/runs/run-input.ts'
import { id, objectType, of } from '../fields.ts'
import { mutation, outcomes } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { admissionResult, heldOutcomes, runOfOutcome, waitMsField, whenBusyField } from '../runs/run-results.ts'
import { CompactionSettingsInput } from './compaction.ts'

mutation('compactConversation', {
  description: 'Starts a run without input that compacts the context of a conversation.',
  input: {
    description: 'A conversation to compact.',
    fields: {
      conversationId: id.required('Id of the conversation.'),
      compaction: of(CompactionSettingsInput)(
        "Settings for this compaction only. Omitted settings default to the agent's.",
      ),
      whenBusy: whenBusyField,
      waitMs: waitMsField,
    },
  },
  result: outcomes({
    accepted: objectType('CompactConversationSuccess', {
      description: 'The compaction will be processed.',
      fields: { run: runOfOutcome('Run that compacts the conversation.') },
    }),
    ...heldOutcomes,
  }),
  async resolve(input, context) {
    const waitMs = checkedWait('input.waitMs', input.waitMs)
    const outcome = await compactConversation(context, context.viewer, {
      conversationId: requireUuid('Conversation', input.conversationId),
      compaction: input.compaction ?? {},
      whenBusy: input.whenBusy,
    })
    return admissionResult(context, outcome, { waitMs })
  },
})
