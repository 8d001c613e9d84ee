import type { Block as BlockShape, Block as DomainBlock } from '../../domain/memory/block.ts'
import { listBlocksPage } from '../../store/memory/blocks.ts'
import { Agent } from '../agents/agent.ts'
import { builder, orNull, type InputFieldBuilder } from '../builder.ts'
import { connectionType, listArguments, pageComplexity } from '../connection.ts'
import { Conversation } from '../conversations/conversation.ts'
import { loadExisting } from '../load-existing.ts'
import { Node, queryById, requireUuid } from '../node.ts'
import { attachBlock, detachBlock } from '../../commands/memory/attach-block.ts'
import { createBlock, deleteBlock } from '../../commands/memory/create-block.ts'
import { updateBlock } from '../../commands/memory/update-block.ts'
import { deletion, idempotencyKeyField, mutation, outcomes, payload, successType } from '../mutation.ts'
import { refusalType } from '../refusal.ts'

const Block = builder.objectRef<BlockShape>('Block')
Block.implement({
  description: 'A piece of memory that is part of the system prompt. Several agents may share a block.',
  interfaces: [Node],
  fields: (t) => ({
    label: t.exposeString('label', {
      description: 'Name of the block in the system prompt. Unique among the blocks of an agent.',
    }),
    value: t.exposeString('value', { description: 'Current content.' }),
    description: t.exposeString('description', orNull('Tells the model what the block is for. Null if there is none.')),
    charLimit: t.exposeInt('charLimit', {
      description: 'Maximum number of characters in `value`. Defaults to 20,000.',
    }),
    version: t.exposeInt('version', { description: 'Starts at 1 and increases with every change of `value`.' }),
    readOnly: t.exposeBoolean('readOnly', {
      description: 'Whether `value` is protected from changes by tools and by `updateBlock`.',
    }),
    agents: t.field({
      type: [Agent],
      description: 'Agents that the block is attached to, oldest first. At most 1,000: the oldest ones.',
      resolve: (block, _args, context) => context.loaders.agentsOfBlock.load(block.id),
    }),
    conversation: t.field({
      ...orNull(
        'Conversation that this isolated copy belongs to. Null for a block that is not isolated.',
        Conversation,
      ),
      resolve: ({ conversationId }, _args, { loaders }) =>
        conversationId === null ? null : loadExisting(loaders.conversations, 'Conversation', conversationId),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the block was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the block last changed.' }),
  }),
})

builder.objectField(Agent, 'blocks', (t) =>
  t.field({
    type: [Block],
    description: 'Memory blocks, in the order of the system prompt.',
    resolve: (agent, _args, context) => context.loaders.blocksOfAgent.load(agent.id),
  }),
)

builder.objectField(Conversation, 'blocks', (t) =>
  t.field({
    type: [Block],
    description:
      "Memory blocks in the system prompt: the agent's, with the conversation's own copy in place of each isolated one.",
    resolve: (conversation, _args, { loaders }) => loaders.blocksOfConversation.load(conversation.id),
  }),
)

queryById(Block, 'Block')

const BlockFilter = builder.inputType('BlockFilter', {
  description: 'Which blocks to list. Omitted fields do not filter.',
  fields: (t) => ({ label: t.string({ description: 'Blocks with exactly this label.' }) }),
})

builder.queryField('blocks', (t) =>
  t.field({
    type: connectionType('Block', Block),
    description: 'Blocks of the tenant, without the isolated copies, which `Conversation.blocks` lists.',
    args: listArguments(BlockFilter, 'blocks'),
    complexity: pageComplexity,
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
  fields: (t) => ({
    label: t.string({ required: true, description: descriptions.label }),
    value: t.string({ required: true, description: descriptions.value }),
    description: t.string({ description: descriptions.description }),
    charLimit: t.int({ description: descriptions.charLimit }),
    readOnly: t.boolean({ description: descriptions.readOnly }),
    idempotencyKey: t.string(idempotencyKeyField),
  }),
})

const BlockChangedRefusal = refusalType<'BlockChangedRefusal', { readonly block: DomainBlock }>(
  'BlockChangedRefusal',
  'The block has changed since the expected version.',
  (t) => ({ block: t.expose('block', { type: Block, description: 'The block in its current version.' }) }),
)

const UpdateBlockSuccess = successType<'UpdateBlockSuccess', { readonly block: DomainBlock }>(
  'UpdateBlockSuccess',
  'The block was changed.',
  (t) => ({ block: t.expose('block', { type: Block, description: 'The block.' }) }),
)

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
    fields: (t) => ({
      id: t.id({ required: true, description: 'Id of the block.' }),
      label: t.string({ description: `${descriptions.label} Must not be null.` }),
      value: t.string({ description: `${descriptions.value} Null empties it.` }),
      description: t.string({ description: `${descriptions.description} Null removes it.` }),
      charLimit: t.int({ description: descriptions.charLimit }),
      readOnly: t.boolean({ description: descriptions.readOnly }),
      expectedVersion: t.int({
        description:
          'Version that the change is based on. If the block has another version, nothing is changed. Null skips this check.',
      }),
    }),
  },
  result: outcomes([UpdateBlockSuccess, BlockChangedRefusal]),
  async resolve(input, context) {
    const id = requireUuid('Block', input.id)
    const { outcome, block } = await updateBlock(context, context.viewer, { ...input, id })
    if (outcome === 'updated') return { type: 'UpdateBlockSuccess' as const, block }
    return {
      type: 'BlockChangedRefusal' as const,
      message: `The block has version ${block.version}, not ${input.expectedVersion}. Read its current value and try again.`,
      block,
    }
  },
})

deletion('deleteBlock', {
  description:
    "Deletes a block and detaches it from all agents. A conversation's own copy is deleted with its conversation instead.",
  kind: 'Block',
  command: deleteBlock,
})

const agentAndBlock = (t: InputFieldBuilder) => ({
  agentId: t.id({ required: true, description: 'Id of the agent.' }),
  blockId: t.id({ required: true, description: 'Id of the block.' }),
})

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
