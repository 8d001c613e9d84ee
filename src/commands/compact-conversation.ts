import { mergeCompaction, type CompactionSettingsInput } from '../domain/agent-input.ts'
import { runDefaults } from '../domain/run.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { listAgents } from '../store/agents.ts'
import { listConversations } from '../store/conversations/conversations.ts'
import { admit, type AdmissionOutcome, type WhenBusy } from './admit.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'

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
  const { tenantId } = viewer
  const [conversation] = await listConversations(db, viewer, [conversationId])
  const { agentId } = found('Conversation', conversationId, conversation)
  const [agent] = await listAgents(db, viewer, [agentId])
  const settings = found('Agent', agentId, agent).compaction
  return admit(
    context,
    viewer,
    { to: { conversationId }, whenBusy },
    {
      id: context.ids.next(),
      tenantId,
      kind: 'COMPACTION',
      parentId: null,
      sentBy: viewer.actor,
      urgent: whenBusy === 'INTERRUPT',
      maxSteps: runDefaults.maxSteps,
      maxTotalTokens: null,
      request: {
        messages: [],
        clientTools: [],
        compaction: mergeCompaction('input.compaction', settings, compaction, models),
      },
      metadata: {},
      createdAt: context.clock.now(),
    },
  )
}
