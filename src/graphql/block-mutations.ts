import { attachBlock } from '../commands/attach-block.ts'
import { createBlock } from '../commands/create-block.ts'
import { deleteBlock } from '../commands/delete-block.ts'
import { detachBlock } from '../commands/detach-block.ts'
import { updateBlock } from '../commands/memory/update-block.ts'
import { type Block as BlockShape } from '../domain/memory/block.ts'
import { Agent } from './agent.ts'
import { Block } from './block.ts'
import { builder } from './builder.ts'
import { requireUuid } from './node.ts'
import { deletedPayloadType, payloadType } from './payload.ts'
import { Refusal } from './refusal.ts'

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
  }),
})

const UpdateBlockInput = builder.inputType('UpdateBlockInput', {
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
})

const DeleteBlockInput = builder.inputType('DeleteBlockInput', {
  description: 'The block to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Id of the block.' }) }),
})

const AttachBlockInput = builder.inputType('AttachBlockInput', {
  description: 'A block and the agent to attach it to.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'Id of the agent.' }),
    blockId: t.id({ required: true, description: 'Id of the block.' }),
  }),
})

const DetachBlockInput = builder.inputType('DetachBlockInput', {
  description: 'A block and the agent to detach it from.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'Id of the agent.' }),
    blockId: t.id({ required: true, description: 'Id of the block.' }),
  }),
})

const BlockChangedRefusal = builder.objectRef<{ readonly message: string; readonly block: BlockShape }>(
  'BlockChangedRefusal',
)
BlockChangedRefusal.implement({
  description: 'The block has changed since the expected version.',
  interfaces: [Refusal],
  fields: (t) => ({ block: t.expose('block', { type: Block, description: 'The block in its current version.' }) }),
})

const UpdateBlockSuccess = builder.objectRef<{ readonly block: BlockShape }>('UpdateBlockSuccess')
UpdateBlockSuccess.implement({
  description: 'The block was changed.',
  fields: (t) => ({ block: t.expose('block', { type: Block, description: 'The block.' }) }),
})

const UpdateBlockResult = builder.unionType('UpdateBlockResult', {
  description: 'Result of `updateBlock`.',
  types: [UpdateBlockSuccess, BlockChangedRefusal],
  resolveType: (result) => ('message' in result ? BlockChangedRefusal : UpdateBlockSuccess),
})

builder.mutationFields((t) => ({
  createBlock: t.field({
    type: payloadType('CreateBlockPayload', 'block', Block, 'The new block.'),
    nullable: true,
    description: 'Creates a block that is not attached to any agent yet.',
    args: { input: t.arg({ type: CreateBlockInput, required: true, description: 'A new block.' }) },
    resolve: (_root, { input }, context) => createBlock(context, context.viewer, input),
  }),
  updateBlock: t.field({
    type: UpdateBlockResult,
    nullable: true,
    description: 'Changes a block, for all agents that it is attached to.',
    args: {
      input: t.arg({
        type: UpdateBlockInput,
        required: true,
        description: 'Changes to a block. Omitted fields stay unchanged, and null restores the default.',
      }),
    },
    async resolve(_root, { input }, context) {
      const id = requireUuid('Block', input.id)
      const { outcome, block } = await updateBlock(context, context.viewer, { ...input, id })
      if (outcome === 'updated') return { block }
      return {
        message: `The block has version ${block.version}, not ${input.expectedVersion}. Read its current value and try again.`,
        block,
      }
    },
  }),
  deleteBlock: t.field({
    type: deletedPayloadType('DeleteBlockPayload', 'Id of the deleted block.'),
    nullable: true,
    description:
      "Deletes a block and detaches it from all agents. A conversation's own copy is deleted with its conversation instead.",
    args: { input: t.arg({ type: DeleteBlockInput, required: true, description: 'The block to delete.' }) },
    async resolve(_root, { input }, context) {
      await deleteBlock(context, context.viewer, { id: requireUuid('Block', input.id) })
      return input.id
    },
  }),
  attachBlock: t.field({
    type: payloadType('AttachBlockPayload', 'agent', Agent, 'The agent, with the block.'),
    nullable: true,
    description: 'Attaches a block to an agent. Attaching it again changes nothing.',
    args: {
      input: t.arg({ type: AttachBlockInput, required: true, description: 'A block and the agent to attach it to.' }),
    },
    resolve: (_root, { input }, context) =>
      attachBlock(context, context.viewer, {
        agentId: requireUuid('Agent', input.agentId),
        blockId: requireUuid('Block', input.blockId),
      }),
  }),
  detachBlock: t.field({
    type: payloadType('DetachBlockPayload', 'agent', Agent, 'The agent, without the block.'),
    nullable: true,
    description: 'Detaches a block from an agent. The block is not deleted.',
    args: {
      input: t.arg({ type: DetachBlockInput, required: true, description: 'A block and the agent to detach it from.' }),
    },
    resolve: (_root, { input }, context) =>
      detachBlock(context, context.viewer, {
        agentId: requireUuid('Agent', input.agentId),
        blockId: requireUuid('Block', input.blockId),
      }),
  }),
}))
