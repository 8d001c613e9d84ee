import DataLoader from 'dataloader'

import type { CommandContext } from '../commands/command-context.ts'
import type { Agent } from '../domain/agent.ts'
import type { Block } from '../domain/memory/block.ts'
import type { Conversation } from '../domain/conversations/conversation.ts'
import type { AgentTool, Tool } from '../domain/tools/tool.ts'
import type { Reach } from '../domain/access/viewer.ts'
import type { Worker } from '../domain/worker.ts'
import { listAgentTools, listToolsOfAgents } from '../store/agents/agent-tools.ts'
import { listAgents } from '../store/agents.ts'
import { listSomeAgentsOfBlocks, listBlocks, listBlocksOfAgents, listBlocksOfConversations } from '../store/blocks.ts'
import { listConversations, listMainConversations } from '../store/conversations/conversations.ts'
import { listTools } from '../store/tools.ts'
import { listWorkers } from '../store/workers/workers.ts'

/** Configured objects, by id and by owner. Everything that is asked for in one tick is read with one statement. */
export interface ConfigurationLoaders {
  readonly agents: DataLoader<string, Agent | undefined>
  readonly agentTools: DataLoader<string, AgentTool | undefined>
  readonly blocks: DataLoader<string, Block | undefined>
  readonly conversations: DataLoader<string, Conversation | undefined>
  readonly tools: DataLoader<string, Tool | undefined>
  /** Workers belong to no tenant: every process drives the runs of all tenants. */
  readonly workers: DataLoader<string, Worker | undefined>
  readonly toolsOfAgent: DataLoader<string, readonly AgentTool[]>
  readonly blocksOfAgent: DataLoader<string, readonly Block[]>
  readonly blocksOfConversation: DataLoader<string, readonly Block[]>
  readonly agentsOfBlock: DataLoader<string, readonly Agent[]>
  readonly mainConversationOfAgent: DataLoader<string, Conversation | undefined>
}

export function createConfigurationLoaders(db: CommandContext['db'], reach: Reach): ConfigurationLoaders {
  return {
    agents: loaderById((ids) => listAgents(db, reach, ids)),
    agentTools: loaderById((ids) => listAgentTools(db, reach, ids)),
    blocks: loaderById((ids) => listBlocks(db, reach, ids)),
    conversations: loaderById((ids) => listConversations(db, reach, ids)),
    tools: loaderById((ids) => listTools(db, reach, ids)),
    workers: loaderById((ids) => listWorkers(db, ids)),
    toolsOfAgent: loaderByOwner(
      (agentIds) => listToolsOfAgents(db, reach, agentIds),
      (agentTool) => [agentTool.agentId, agentTool],
    ),
    blocksOfAgent: loaderByOwner(
      (agentIds) => listBlocksOfAgents(db, reach, agentIds),
      ({ agentId, block }) => [agentId, block],
    ),
    blocksOfConversation: loaderByOwner(
      (conversationIds) => listBlocksOfConversations(db, reach, conversationIds),
      ({ conversationId, block }) => [conversationId, block],
    ),
    agentsOfBlock: loaderByOwner(
      (blockIds) => listSomeAgentsOfBlocks(db, reach, blockIds),
      ({ blockId, agent }) => [blockId, agent],
    ),
    mainConversationOfAgent: loaderBy(
      (agentIds) => listMainConversations(db, reach, agentIds),
      (conversation) => conversation.agentId,
    ),
  }
}

export function loaderById<Node extends { readonly id: string }>(list: (ids: readonly string[]) => Promise<Node[]>) {
  return loaderBy(list, (node) => node.id)
}

export function loaderBy<Node>(list: (keys: readonly string[]) => Promise<Node[]>, keyOf: (node: Node) => string) {
  return new DataLoader<string, Node | undefined>(async (keys) => {
    const found = new Map((await list(keys)).map((node) => [keyOf(node), node]))
    return keys.map((key) => found.get(key))
  })
}

/** Several objects for each key, in the order of `list`. */
export function loaderByOwner<Row, Node>(
  list: (owners: readonly string[]) => Promise<Row[]>,
  split: (row: Row) => readonly [owner: string, node: Node],
) {
  return new DataLoader<string, readonly Node[]>(async (owners) => {
    const found = new Map<string, Node[]>(owners.map((owner) => [owner, []]))
    for (const row of await list(owners)) {
      const [owner, node] = split(row)
      found.get(owner)?.push(node)
    }
    return owners.map((owner) => found.get(owner)!)
  })
}
