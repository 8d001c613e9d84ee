import type { Block } from '../../domain/memory/block.ts'
import type { ContextMessage } from '../../domain/context/context.ts'
import type { PromptState } from '../../domain/runs/run-state.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { findConversations } from '../conversations/conversations.ts'
import { loadConfiguration, loadContext, loadRun } from '../runs/load-run.ts'
import type { Db } from '../database/schema.ts'

/** Everything that the conversation's next model request would be built from. */
export interface ContextSnapshot {
  /** The run that holds the conversation, or else a run that would begin now without client tools. */
  readonly state: PromptState
  readonly blocks: readonly Block[]
  readonly messages: readonly ContextMessage[]
}

/** Reads it all in one snapshot. Undefined if the tenant has no such conversation. */
export function loadContextSnapshot(
  db: Db,
  reach: Reach,
  conversationId: string,
): Promise<ContextSnapshot | undefined> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      const [conversation] = await findConversations(trx, reach, [conversationId])
      if (!conversation) return undefined
      const messages = await loadContext(trx, conversationId, conversation)
      const active = conversation.activeRunId === null ? undefined : await loadRun(trx, conversation.activeRunId)
      if (active) return { state: active.state, blocks: active.configuration.blocks, messages }
      const configuration = await loadConfiguration(
        trx,
        conversation.agentId,
        conversation.forConversation ?? conversationId,
      )
      if (!configuration) return undefined
      const { agent, tools, blocks } = configuration
      const run = { id: '', request: { messages: [], clientTools: [] } }
      return { state: { agent, tools, run, steps: [], calls: [] }, blocks, messages }
    })
}
