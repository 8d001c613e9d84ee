import type { Block as BlockShape } from '../domain/memory/block.ts'
import { encodeId } from '../domain/ids.ts'
import { countBlocks, listBlocksPage } from '../store/blocks.ts'
import { Agent } from './agent.ts'
import { builder } from './builder.ts'
import { connectionType, pageArguments, pageComplexity } from './connection.ts'
import { Node, registerNode, uuidOf } from './node.ts'

export const Block = builder.objectRef<BlockShape>('Block')
Block.implement({
  description: 'A piece of memory that is part of the system prompt. Several agents may share a block.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'Id of the block.', resolve: (block) => encodeId('Block', block.id) }),
    label: t.exposeString('label', {
      description: 'Name of the block in the system prompt. Unique among the blocks of an agent.',
    }),
    value: t.exposeString('value', { description: 'Current content.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'Tells the model what the block is for. Null if there is none.',
    }),
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
      resolve: async (block, _args, context) => [...(await context.loaders.agentsOfBlock.load(block.id))],
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the block was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the block last changed.' }),
  }),
})

registerNode('Block', { load: (context, { uuid }) => context.loaders.blocks.load(uuid) })

builder.objectField(Agent, 'blocks', (t) =>
  t.field({
    type: [Block],
    description: 'Memory blocks, in the order of the system prompt.',
    resolve: async (agent, _args, context) => [...(await context.loaders.blocksOfAgent.load(agent.id))],
  }),
)

const BlockConnection = connectionType('Block', Block)

const BlockFilter = builder.inputType('BlockFilter', {
  description: 'Which blocks to list. Omitted fields do not filter.',
  fields: (t) => ({ label: t.string({ description: 'Blocks with exactly this label.' }) }),
})

builder.queryFields((t) => ({
  block: t.field({
    type: Block,
    nullable: true,
    description: 'Block with this id. Null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'Id of the block.' }) },
    resolve(_root, { id }, context) {
      const uuid = uuidOf('Block', id)
      return uuid === undefined ? null : context.loaders.blocks.load(uuid)
    },
  }),
  blocks: t.field({
    type: BlockConnection,
    description: 'Blocks of the tenant, without the isolated copies, which `Conversation.blocks` lists.',
    args: {
      ...pageArguments,
      filter: t.arg({ type: BlockFilter, description: 'Which blocks to list. Omitted fields do not filter.' }),
    },
    complexity: pageComplexity,
    resolve: async (_root, { filter, ...page }, { db, viewer }) => ({
      ...(await listBlocksPage(db, viewer, filter ?? {}, page)),
      countAll: () => countBlocks(db, viewer, filter ?? {}),
    }),
  }),
}))
