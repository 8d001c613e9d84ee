import { mergeCompaction, type CompactionSettingsInput } from '../../domain/agents/agent-input.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { findAgents } from '../../store/agents/agents.ts'
import { findConversations } from '../../store/conversations/conversations.ts'
import { admit, newRun, type AdmissionOutcome, type WhenBusy } from '../runs/admit.ts'
import type { CommandContext } from '../command-context.ts'
import { foundOne } from '../found.ts'

export interface CompactConversationInput {
  readonly conversationId: string
  /** Settings for this compaction only. Omitted settings default to the agent's. */
  readonly compaction: CompactionSettingsInput
  readonly whenBusy: WhenBusy
}

/** Starts a run without input, which waits for the conversation like any other. */
export async function compactConversation(
  context: CommandContext,
  viewer: Viewer,
  { conversationId, compaction, whenBusy }: CompactConversationInput,
): Promise<AdmissionOutcome> {
  const { db, models } = context
  const { agentId } = await foundOne('Conversation', conversationId, findConversations(db, viewer, [conversationId]))
  const agent = await foundOne('Agent', agentId, findAgents(db, viewer, [agentId]))
  const run = newRun(context, {
    tenantId: viewer.tenantId,
    kind: 'COMPACTION',
    sentBy: viewer.actor,
    urgent: whenBusy === 'INTERRUPT',
    request: {
      messages: [],
      clientTools: [],
      compaction: mergeCompaction('input.compaction', agent.compaction, compaction, models),
    },
  })
  return admit(context, viewer, { to: { conversationId }, whenBusy }, run)
}
