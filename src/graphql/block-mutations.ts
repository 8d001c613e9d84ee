import { attachBlock } from '../commands/attach-block.ts'
import { createBlock } from '../commands/create-block.ts'
import { deleteBlock } from '../commands/delete-block.ts'
import { detachBlock } from '../commands/detach-block.ts'
import { updateBlock } from '../commands/update-block.ts'
import { defaultBlockCharLimit, type Block as BlockShape } from '../domain/block.ts'
import { Agent } from './agent.ts'
import { Block } from './block.ts'
import { builder } from './builder.ts'
import { requireUuid } from './node.ts'
import { deletedPayloadType, payloadType } from './payload.ts'
import { Refusal } from './refusal.ts'

const descriptions = {
  label: 'What agents call it by: 1 to 64 of a–z, A–Z, 0–9, _, . and -.',
  value: 'What it holds, `charLimit` characters at the most.',
  description: 'What models are told about its use, 10,000 characters at the most.',
  charLimit: `The most characters \`value\` may hold; ${defaultBlockCharLimit} by default.`,
  readOnly: 'Whether its value is fixed: no tool and no update changes it while this is true; false by default.',
}

export const CreateBlockInput = builder.inputType('CreateBlockInput', {
  description: 'A block to make.',
  fields: (t) => ({
    label: t.string({ required: true, description: descriptions.label }),
    value: t.string({ required: true, description: descriptions.value }),
    description: t.string({ description: descriptions.description }),
    charLimit: t.int({ description: descriptions.charLimit }),
    readOnly: t.boolean({ description: descriptions.readOnly }),
  }),
})

const UpdateBlockInput = builder.inputType('UpdateBlockInput', {
  description: 'What is left out stays as it is; null clears.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'block_…' }),
    label: t.string({ description: descriptions.label }),
    value: t.string({ description: descriptions.value }),
    description: t.string({ description: descriptions.description }),
    charLimit: t.int({ description: descriptions.charLimit }),
    readOnly: t.boolean({ description: descriptions.readOnly }),
    expectedVersion: t.int({
      description: 'The version that the change was made from: where the block has another by now, nothing is done.',
    }),
  }),
})

const DeleteBlockInput = builder.inputType('DeleteBlockInput', {
  description: 'Which block to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'block_…' }) }),
})

const AttachBlockInput = builder.inputType('AttachBlockInput', {
  description: 'Which block to give to which agent.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'agent_…' }),
    blockId: t.id({ required: true, description: 'block_…' }),
  }),
})

const DetachBlockInput = builder.inputType('DetachBlockInput', {
  description: 'Which block to take from which agent.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'agent_…' }),
    blockId: t.id({ required: true, description: 'block_…' }),
  }),
})

const BlockChangedRefusal = builder.objectRef<{ readonly message: string; readonly block: BlockShape }>(
  'BlockChangedRefusal',
)
BlockChangedRefusal.implement({
  description: 'The block has changed since the version that was expected. Nothing was applied.',
  interfaces: [Refusal],
  fields: (t) => ({ block: t.expose('block', { type: Block, description: 'As it is now.' }) }),
})

const UpdateBlockSuccess = builder.objectRef<{ readonly block: BlockShape }>('UpdateBlockSuccess')
UpdateBlockSuccess.implement({
  description: 'The block was changed.',
  fields: (t) => ({ block: t.expose('block', { type: Block, description: 'As it is now.' }) }),
})

const UpdateBlockResult = builder.unionType('UpdateBlockResult', {
  description: 'What `updateBlock` answers with.',
  types: [UpdateBlockSuccess, BlockChangedRefusal],
  resolveType: (result) => ('message' in result ? BlockChangedRefusal : UpdateBlockSuccess),
})

builder.mutationFields((t) => ({
  createBlock: t.field({
    type: payloadType('CreateBlockPayload', 'block', Block, 'The new block.'),
    nullable: true,
    description: 'Makes a block that no agent has yet.',
    args: { input: t.arg({ type: CreateBlockInput, required: true, description: 'What it is to be.' }) },
    resolve: (_root, { input }, context) => createBlock(context, context.viewer, input),
  }),
  updateBlock: t.field({
    type: UpdateBlockResult,
    nullable: true,
    description: 'Changes a block, for every agent that has it.',
    args: { input: t.arg({ type: UpdateBlockInput, required: true, description: 'What changes.' }) },
    async resolve(_root, { input }, context) {
      const id = requireUuid('Block', input.id)
      const { outcome, block } = await updateBlock(context, context.viewer, { ...input, id })
      if (outcome === 'updated') return { block }
      return {
        message: `The block has version ${block.version}, not ${input.expectedVersion}. Look at what it holds now, and try again.`,
        block,
      }
    },
  }),
  deleteBlock: t.field({
    type: deletedPayloadType('DeleteBlockPayload', 'Id of the deleted block.'),
    nullable: true,
    description: 'Deletes a block; every agent that has it loses it.',
    args: { input: t.arg({ type: DeleteBlockInput, required: true, description: 'Which one.' }) },
    async resolve(_root, { input }, context) {
      await deleteBlock(context, context.viewer, { id: requireUuid('Block', input.id) })
      return input.id
    },
  }),
  attachBlock: t.field({
    type: payloadType('AttachBlockPayload', 'agent', Agent, 'The agent, with the block.'),
    nullable: true,
    description: 'Gives a block to an agent. Giving it again changes nothing.',
    args: { input: t.arg({ type: AttachBlockInput, required: true, description: 'Which to whom.' }) },
    resolve: (_root, { input }, context) =>
      attachBlock(context, context.viewer, {
        agentId: requireUuid('Agent', input.agentId),
        blockId: requireUuid('Block', input.blockId),
      }),
  }),
  detachBlock: t.field({
    type: payloadType('DetachBlockPayload', 'agent', Agent, 'The agent, without the block.'),
    nullable: true,
    description: 'Takes a block from an agent. The block stays.',
    args: { input: t.arg({ type: DetachBlockInput, required: true, description: 'Which from whom.' }) },
    resolve: (_root, { input }, context) =>
      detachBlock(context, context.viewer, {
        agentId: requireUuid('Agent', input.agentId),
        blockId: requireUuid('Block', input.blockId),
      }),
  }),
}))
