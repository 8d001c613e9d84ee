import { attachBlock, detachBlock } from '../../commands/memory/attach-block.ts'
import { createBlock, deleteBlock, updateBlock } from '../../commands/memory/block.ts'
import type { Block as BlockShape } from '../../domain/memory/block.ts'
import { listBlocksPage } from '../../store/memory/blocks.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { connectionType, filterBy, pageOf } from '../connection.ts'
import { Conversation } from '../conversations/conversation.ts'
import { addFields, boolean, given, id, implement, int, objectType, of, string, time } from '../fields.ts'
import { linkOrNull, loaded } from '../load-existing.ts'
import { deletion, idempotencyKeyField, mutation, outcomes, payload } from '../mutation.ts'
import { Node, queryById, requireUuid } from '../node.ts'
import { refusalType } from '../refusal.ts'

const Block = builder.objectRef<BlockShape>('Block')
implement(Block, {
  description: 'A piece of memory that is part of the system prompt. Several agents may share a block.',
  interfaces: [Node],
  fields: () => ({
    label: string('Name of the block in the system prompt. Unique among the blocks of an agent.'),
    value: string('Current content.'),
    description: string.orNull('Tells the model what the block is for. Null if there is none.'),
    charLimit: int('Maximum number of characters in `value`. Defaults to 20,000.'),
    version: int('Starts at 1 and increases with every change of `value`.'),
    readOnly: boolean('Whether `value` is protected from changes by tools and by `updateBlock`.'),
    agents: loaded(
      'agentsOfBlock',
      of([Agent])('Agents that the block is attached to, oldest first. At most 1,000: the oldest ones.'),
    ),
    conversation: linkOrNull(
      Conversation,
      'conversationId',
      'Conversation that this isolated copy belongs to. Null for a block that is not isolated.',
    ),
    createdAt: time('When the block was created.'),
    updatedAt: time('When the block last changed.'),
  }),
})

addFields(Agent, () => ({
  blocks: loaded('blocksOfAgent', of([Block])('Memory blocks, in the order of the system prompt.')),
}))

addFields(Conversation, () => ({
  blocks: loaded(
    'blocksOfConversation',
    of([Block])(
      "Memory blocks in the system prompt: the agent's, with the conversation's own copy in place of each isolated one.",
    ),
  ),
}))

queryById(Block, 'Block')

const BlockFilter = builder.inputType('BlockFilter', {
  description: 'Which blocks to list. Omitted fields do not filter.',
  fields: given({ label: string('Blocks with exactly this label.') }),
})

builder.queryField('blocks', (t) =>
  t.field({
    ...pageOf(
      connectionType('Block', Block),
      'Blocks of the tenant, without the isolated copies, which `Conversation.blocks` lists.',
      filterBy(BlockFilter, 'blocks'),
    ),
    resolve: (_root, { filter, ...page }, { db, viewer }) => listBlocksPage(db, viewer, filter ?? {}, page),
  }),
)

const descriptions = {
  label: 'Name of the block in the system prompt: 1 to 64 characters of a–z, A–Z, 0–9, _, . and -.',
  value: 'Content, at most `charLimit` characters.',
  description: 'Tells the model what the block is for, at most 10,000 characters.',
  charLimit: 'Maximum number of characters in `value`. Defaults to 20,000, at most 1,000,000.',
  readOnly: 'Whether `value` is protected from changes. Defaults to false.',
}

export const CreateBlockInput = builder.inputType('CreateBlockInput', {
  description: 'A new block.',
  fields: given({
    label: string.required(descriptions.label),
    value: string.required(descriptions.value),
    description: string(descriptions.description),
    charLimit: int(descriptions.charLimit),
    readOnly: boolean(descriptions.readOnly),
    idempotencyKey: idempotencyKeyField,
  }),
})

mutation('createBlock', {
  description: 'Creates a block that is not attached to any agent yet.',
  input: CreateBlockInput,
  result: payload('block', Block, 'The new block.'),
  resolve: (input, context) => createBlock(context, context.viewer, input),
})

mutation('updateBlock', {
  description: 'Changes a block, for all agents that it is attached to.',
  input: {
    description: 'Changes to a block. Omitted fields stay unchanged, and null restores the default.',
    fields: {
      id: id.required('Id of the block.'),
      label: string(`${descriptions.label} Must not be null.`),
      value: string(`${descriptions.value} Null empties it.`),
      description: string(`${descriptions.description} Null removes it.`),
      charLimit: int(descriptions.charLimit),
      readOnly: boolean(descriptions.readOnly),
      expectedVersion: int(
        'Version that the change is based on. If the block has another version, nothing is changed. Null skips this check.',
      ),
    },
  },
  result: outcomes({
    updated: objectType('UpdateBlockSuccess', {
      description: 'The block was changed.',
      fields: { block: of(Block)('The block.') },
    }),
    changed: refusalType('BlockChangedRefusal', {
      description: 'The block has changed since the expected version.',
      fields: { block: of(Block)('The block in its current version.') },
    }),
  }),
  async resolve(input, context) {
    const result = await updateBlock(context, context.viewer, { ...input, id: requireUuid('Block', input.id) })
    if (result.outcome === 'updated') return result
    const message = `The block has version ${result.block.version}, not ${input.expectedVersion}. Read its current value and try again.`
    return { ...result, message }
  },
})

deletion('deleteBlock', {
  description:
    "Deletes a block and detaches it from all agents. A conversation's own copy is deleted with its conversation instead.",
  kind: 'Block',
  command: deleteBlock,
})

const agentAndBlock = { agentId: id.required('Id of the agent.'), blockId: id.required('Id of the block.') }

function uuidsOf({ agentId, blockId }: { readonly agentId: string; readonly blockId: string }) {
  return { agentId: requireUuid('Agent', agentId), blockId: requireUuid('Block', blockId) }
}

mutation('attachBlock', {
  description: 'Attaches a block to an agent. Attaching it again changes nothing.',
  input: {
    description: 'A block and the agent to attach it to.',
    fields: agentAndBlock,
  },
  result: payload('agent', Agent, 'The agent, with the block.'),
  resolve: (input, context) => attachBlock(context, context.viewer, uuidsOf(input)),
})

mutation('detachBlock', {
  description: 'Detaches a block from an agent. The block is not deleted.',
  input: {
    description: 'A block and the agent to detach it from.',
    fields: agentAndBlock,
  },
  result: payload('agent', Agent, 'The agent, without the block.'),
  resolve: (input, context) => detachBlock(context, context.viewer, uuidsOf(input)),
})
