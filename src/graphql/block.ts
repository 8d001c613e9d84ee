import type { Block as BlockShape } from '../domain/block.ts'
import { encodeId } from '../domain/ids.ts'
import { countBlocks, listBlocksPage } from '../store/blocks.ts'
import { Agent } from './agent.ts'
import { builder } from './builder.ts'
import { connectionType, pageArguments, pageComplexity } from './connection.ts'
import { Node, registerNode, uuidOf } from './node.ts'

export const Block = builder.objectRef<BlockShape>('Block')
Block.implement({
  description: 'A piece of memory that agents have in their system prompt. Several agents may share one.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'block_…', resolve: (block) => encodeId('Block', block.id) }),
    label: t.exposeString('label', { description: 'What agents call it by. Unique among the blocks of one agent.' }),
    value: t.exposeString('value', { description: 'What it holds.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'What models are told about its use. Null where there is none.',
    }),
    charLimit: t.exposeInt('charLimit', { description: 'The most characters `value` may hold.' }),
    version: t.exposeInt('version', { description: 'Counts the changes of `value`.' }),
    readOnly: t.exposeBoolean('readOnly', {
      description: 'Whether its value is fixed: no tool and no update changes it while this is true.',
    }),
    agents: t.field({
      type: [Agent],
      description: 'The agents that have it, oldest first.',
      resolve: async (block, _args, context) => [...(await context.loaders.agentsOfBlock.load(block.id))],
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
  }),
})

registerNode('Block', { load: (context, { uuid }) => context.loaders.blocks.load(uuid) })

builder.objectField(Agent, 'blocks', (t) =>
  t.field({
    type: [Block],
    description: 'Its memory, in the order of the system prompt.',
    resolve: async (agent, _args, context) => [...(await context.loaders.blocksOfAgent.load(agent.id))],
  }),
)

const BlockConnection = connectionType('Block', Block)

const BlockFilter = builder.inputType('BlockFilter', {
  description: 'Which blocks. What is left out is not asked for.',
  fields: (t) => ({ label: t.string({ description: 'Exactly this label.' }) }),
})

builder.queryFields((t) => ({
  block: t.field({
    type: Block,
    nullable: true,
    description: 'The block with this id. Null where there is none.',
    args: { id: t.arg.id({ required: true, description: 'block_…' }) },
    resolve(_root, { id }, context) {
      const uuid = uuidOf('Block', id)
      return uuid === undefined ? null : context.loaders.blocks.load(uuid)
    },
  }),
  blocks: t.field({
    type: BlockConnection,
    description: 'All blocks, oldest first.',
    args: { ...pageArguments, filter: t.arg({ type: BlockFilter, description: 'Only some of them.' }) },
    complexity: pageComplexity,
    resolve: async (_root, { filter, ...page }, { db, viewer }) => ({
      ...(await listBlocksPage(db, viewer.tenantId, filter ?? {}, page)),
      countAll: () => countBlocks(db, viewer.tenantId, filter ?? {}),
    }),
  }),
}))
