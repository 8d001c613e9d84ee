import { isolatedCopy, type Block } from '../../domain/memory/block.ts'
import { checkedConversation, type ConversationInput } from '../../domain/conversations/conversation-input.ts'
import type { Conversation } from '../../domain/conversations/conversation.ts'
import { badUserInput } from '../../domain/errors.ts'
import { shown, type Given } from '../../domain/input.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { shareAgent } from '../../store/agents/agents.ts'
import { insertBlocks, listBlocksOfAgents } from '../../store/memory/blocks.ts'
import {
  findConversations,
  insertConversation,
  setArchived,
  setConversation,
  clearConversation as clearConversationRows,
  lockConversationsToDelete,
} from '../../store/conversations/conversations.ts'
import type { Trx } from '../../store/database/schema.ts'
import type { CommandContext, IdInput } from '../command-context.ts'
import { createOnce, type Creation } from '../create-once.ts'
import { found } from '../found.ts'
import { markConversationsDeleted } from '../../store/deletions.ts'
import { transact } from '../../store/database/transact.ts'
import { disableSchedulesOf } from '../schedules/run-schedule.ts'
import { stopRemovedRuns } from '../agents/delete-agent.ts'
import { changeOf, recordAct, recordChange } from '../record-change.ts'
import { refusalWhileHeld, type HeldRefusal } from './select-branch.ts'

export interface CreateConversationInput extends ConversationInput {
  readonly agentId: string
  /** Labels of the blocks of which the conversation gets its own copies. */
  readonly isolatedBlockLabels?: Given<readonly string[]>
  readonly idempotencyKey?: Given<string>
}

export async function createConversation(
  context: CommandContext,
  viewer: Viewer,
  input: CreateConversationInput,
): Promise<Conversation> {
  const { tenantId } = viewer
  const { title = null, metadata = {} } = checkedConversation(input)
  const creation: Creation<Conversation> = {
    mutation: 'createConversation',
    kind: 'Conversation',
    input,
    defaults: { metadata: {}, isolatedBlockLabels: [] },
    find: findConversations,
  }
  return createOnce(context, viewer, creation, async (trx) => {
    // Conversations of one agent can be created in parallel, but the agent cannot be deleted meanwhile.
    const agent = found('Agent', input.agentId, await shareAgent(trx, viewer, input.agentId))
    const blocks = await blocksToIsolate(trx, viewer, agent.id, input.isolatedBlockLabels ?? [])
    const now = context.clock.now()
    const conversation = await insertConversation(trx, {
      id: context.ids.next(),
      tenantId,
      agentId: agent.id,
      isMain: false,
      title,
      metadata,
      createdAt: now,
    })
    const copies = blocks.map((block) => isolatedCopy(block, { id: context.ids.next(), of: conversation, now }))
    await insertBlocks(trx, copies)
    return conversation
  })
}

async function blocksToIsolate(
  trx: Trx,
  { tenantId }: Viewer,
  agentId: string,
  labels: readonly string[],
): Promise<Block[]> {
  if (labels.length === 0) return []
  const owned = (await listBlocksOfAgents(trx, { tenantId }, [agentId])).map(({ block }) => block)
  return [...new Set(labels)].map((label) => {
    const block = owned.find((one) => one.label === label)
    if (block) return block
    throw badUserInput(
      'input.isolatedBlockLabels',
      `The agent has no block labelled ${shown(label)}. Expected labels of its blocks: ${owned.map((one) => one.label).join(', ') || 'it has none'}.`,
    )
  })
}

export interface UpdateConversationInput extends ConversationInput {
  readonly id: string
}

/** Omitted fields stay unchanged. Null restores the default. */
export async function updateConversation(
  context: CommandContext,
  viewer: Viewer,
  input: UpdateConversationInput,
): Promise<Conversation> {
  const changes = { ...checkedConversation(input), now: context.clock.now() }
  return found('Conversation', input.id, await setConversation(context.db, viewer, input.id, changes))
}

/** Archived conversations can be filtered out of lists. They keep working, and the next message restores them. */
export async function archiveConversation(
  context: CommandContext,
  viewer: Viewer,
  { id, archived }: { readonly id: string; readonly archived: boolean },
): Promise<Conversation> {
  const now = context.clock.now()
  return found('Conversation', id, await setArchived(context.db, viewer, id, { archived, now }))
}

/**
 * Deletes the conversation with its runs and messages. A worker that drives one of the runs finds the row gone at its
 * next checkpoint, and stops. Other rows are deleted in the background.
 */
export async function deleteConversation(context: CommandContext, viewer: Viewer, { id }: IdInput): Promise<void> {
  const runIds = await transact(context, async (trx) => {
    const conversation = await lockToDelete(trx, viewer, id)
    if (conversation.isMain)
      throw badUserInput(
        'input.id',
        "It is the agent's main conversation, which every agent has. Delete the agent, or talk in a conversation made by createConversation and delete that.",
      )
    const unfinished = await markConversationsDeleted(trx, { id }, context.clock.now())
    await disableSchedulesOf(trx, { conversationId: id }, context.clock.now())
    const { agentId, title, metadata } = conversation
    const before = { id, agentId, title, metadata }
    await recordChange(context, trx, viewer, changeOf('deleteConversation', 'Conversation', before, null))
    return unfinished
  })
  stopRemovedRuns(context, runIds)
}

/** Locks the conversation, the ones in which sleeptime agents work for it, and their runs. */
async function lockToDelete(trx: Trx, viewer: Viewer, id: string) {
  const conversations = await lockConversationsToDelete(trx, viewer, { id })
  const locked = conversations.find((conversation) => conversation.id === id)
  return found('Conversation', id, locked)
}

export type ClearOutcome = { readonly outcome: 'cleared' } | HeldRefusal

/** Deletes the runs and messages of a conversation. Refused while a run holds the conversation. */
export async function clearConversation(
  context: CommandContext,
  viewer: Viewer,
  { id }: IdInput,
): Promise<ClearOutcome> {
  return transact(context, async (trx, afterCommit): Promise<ClearOutcome> => {
    const { activeRunId } = await lockToDelete(trx, viewer, id)
    const refusal = await refusalWhileHeld(trx, activeRunId)
    if (refusal) return refusal
    await clearConversationRows(trx, id, context.clock.now())
    await recordAct(context, trx, viewer, { action: 'clearConversation', subject: ['Conversation', id] })
    const { tenantId } = viewer
    afterCommit(() => context.hub.announce({ runId: null, tenantId, conversationId: id, status: null, calls: false }))
    return { outcome: 'cleared' }
  })
}
