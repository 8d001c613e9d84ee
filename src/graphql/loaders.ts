import DataLoader from 'dataloader'

import type { Reach } from '../domain/access/viewer.ts'
import type { FilePlace } from '../domain/files/file.ts'
import { findApiKeys } from '../store/access/api-keys.ts'
import { findAuditEntries } from '../store/access/audit-entries.ts'
import { findAgentTools, listToolsOfAgents } from '../store/agents/agent-tools.ts'
import { findAgents } from '../store/agents/agents.ts'
import { listPreviousRuns, listVersionsOfRuns } from '../store/conversations/branches.ts'
import { findConversationHeads } from '../store/conversations/conversation-heads.ts'
import { findLastActivity } from '../store/conversations/conversation-list.ts'
import { findConversations, listMainConversations } from '../store/conversations/conversations.ts'
import {
  findLastStopReasonsOfAgents,
  findLastStopReasonsOfConversations,
} from '../store/conversations/last-stop-reasons.ts'
import { findAnswers, findMessageContents, findMessages, listMessagesOfSteps } from '../store/conversations/messages.ts'
import type { Db } from '../store/database/schema.ts'
import { findFiles } from '../store/files/files.ts'
import {
  findBlocks,
  listBlocksOfAgents,
  listBlocksOfConversations,
  listSomeAgentsOfBlocks,
} from '../store/memory/blocks.ts'
import { findPassages } from '../store/memory/passages.ts'
import {
  findLastProcessedMessageIds,
  findSleeptimeGroups,
  findSleeptimeGroupsOfAgents,
} from '../store/memory/sleeptime-groups.ts'
import {
  findClientToolNames,
  findRunInputs,
  findRunMetadata,
  findRuns,
  listChildrenOfRuns,
} from '../store/runs/runs.ts'
import { findStepExchanges } from '../store/runs/step-exchanges.ts'
import { findSteps, listStepsOfRuns, type StepKey } from '../store/runs/steps.ts'
import { findSchedules } from '../store/schedules/schedules.ts'
import { findMcpServers, listToolsOfMcpServers } from '../store/tools/mcp-servers.ts'
import {
  findToolCallArguments,
  findToolCalls,
  findToolResults,
  listCallsOfSteps,
  listPendingCallsOfRuns,
} from '../store/tools/tool-calls.ts'
import { findToolsByName, findTools } from '../store/tools/tools.ts'
import { findBudgets } from '../store/usage/budgets.ts'
import { findDeliveries } from '../store/webhooks/deliveries.ts'
import { findWebhooks } from '../store/webhooks/webhooks.ts'
import { listWorkers } from '../store/workers/workers.ts'

/** `forget` makes everything be read again, because what was loaded may have changed. */
export type Loaders = ReturnType<typeof createAll> & { readonly forget: () => void }

/** The loaders are created when the first of them is used: there are many, and a waiting subscription needs none. */
export function createLoaders(db: Db, reach: Reach): Loaders {
  let created: Loaders | undefined
  const forget = () => (created = undefined)
  return new Proxy({} as Loaders, {
    get: (_target, name: keyof Loaders) => (created ??= { ...createAll(db, reach), forget })[name],
  })
}

/**
 * What a list would otherwise query row by row: everything that is asked for in one tick is read with one statement.
 * Everything is filtered by tenant, so objects of other tenants do not exist here.
 */
function createAll(db: Db, reach: Reach) {
  return {
    agents: byId((ids) => findAgents(db, reach, ids)),
    agentTools: byId((ids) => findAgentTools(db, reach, ids)),
    apiKeys: byId((ids) => findApiKeys(db, reach, ids)),
    auditEntries: byId((ids) => findAuditEntries(db, reach, ids)),
    budgets: byId((ids) => findBudgets(db, reach, ids)),
    blocks: byId((ids) => findBlocks(db, reach, ids)),
    conversations: byId((ids) => findConversations(db, reach, ids)),
    files: one((places: readonly FilePlace[]) => findFiles(db, reach, places), textOfFile, textOfFile),
    mcpServers: byId((ids) => findMcpServers(db, reach, ids)),
    messages: byId((ids) => findMessages(db, reach, ids)),
    passages: byId((ids) => findPassages(db, reach, ids)),
    runs: byId((ids) => findRuns(db, reach, ids)),
    schedules: byId((ids) => findSchedules(db, reach, ids)),
    sleeptimeGroups: byId((ids) => findSleeptimeGroups(db, reach, ids)),
    steps: one((keys: readonly StepKey[]) => findSteps(db, reach, keys), textOfStep, textOfStep),
    tools: byId((ids) => findTools(db, reach, ids)),
    toolCalls: byId((ids) => findToolCalls(db, reach, ids)),
    webhooks: byId((ids) => findWebhooks(db, reach, ids)),
    webhookDeliveries: byId((ids) => findDeliveries(db, reach, ids)),
    /** Workers belong to no tenant: every process drives the runs of all tenants. */
    workers: byId((ids) => listWorkers(db, ids)),

    toolsOfAgent: many(
      (agentIds) => listToolsOfAgents(db, reach, agentIds),
      (agentTool) => [agentTool.agentId, agentTool],
    ),
    blocksOfAgent: many(
      (agentIds) => listBlocksOfAgents(db, reach, agentIds),
      ({ agentId, block }) => [agentId, block],
    ),
    mainConversationOfAgent: one(
      (agentIds) => listMainConversations(db, reach, agentIds),
      (conversation) => conversation.agentId,
    ),
    sleeptimeGroupOfAgent: one(
      (agentIds) => findSleeptimeGroupsOfAgents(db, reach, agentIds),
      (group) => group.agentId,
    ),
    lastStopReasonOfAgent: ofMap((agentIds) => findLastStopReasonsOfAgents(db, reach, agentIds)),

    agentsOfBlock: many(
      (blockIds) => listSomeAgentsOfBlocks(db, reach, blockIds),
      ({ blockId, agent }) => [blockId, agent],
    ),
    /** The id of the message up to which a group has read. */
    lastProcessedMessageOfGroup: ofMap((groupIds) => findLastProcessedMessageIds(db, reach, groupIds)),

    conversationHeads: one(
      (conversationIds) => findConversationHeads(db, reach, conversationIds),
      (head) => head.conversationId,
    ),
    blocksOfConversation: many(
      (conversationIds) => listBlocksOfConversations(db, reach, conversationIds),
      ({ conversationId, block }) => [conversationId, block],
    ),
    lastActivityOfConversation: ofMap((ids) => findLastActivity(db, reach, ids)),
    lastStopReasonOfConversation: ofMap((ids) => findLastStopReasonsOfConversations(db, reach, ids)),
    contentOfMessage: ofMap((ids) => findMessageContents(db, reach, ids)),

    inputOfRun: ofMap((runIds) => findRunInputs(db, reach, runIds)),
    metadataOfRun: ofMap((runIds) => findRunMetadata(db, reach, runIds)),
    clientToolsOfRun: ofMap((runIds) => findClientToolNames(db, reach, runIds)),
    answerOfRun: ofMap((runIds) => findAnswers(db, reach, runIds)),
    previousRun: ofMap((runIds) => listPreviousRuns(db, reach, runIds)),
    versionsOfRun: many(
      (runIds) => listVersionsOfRuns(db, reach, runIds),
      ({ versionOf, run }) => [versionOf, run],
    ),
    childrenOfRun: many(
      (runIds) => listChildrenOfRuns(db, reach, runIds),
      ({ parentId, run }) => [parentId, run],
    ),
    stepsOfRun: many(
      (runIds) => listStepsOfRuns(db, reach, runIds),
      (step) => [step.runId, step],
    ),
    pendingCallsOfRun: many(
      (runIds) => listPendingCallsOfRuns(db, reach, runIds),
      (call) => [call.runId, call],
    ),

    exchangeOfStep: one((keys: readonly StepKey[]) => findStepExchanges(db, reach, keys), textOfStep, textOfStep),
    messagesOfStep: many(
      (keys: readonly StepKey[]) => listMessagesOfSteps(db, reach, keys),
      (message) => [textOfStep({ runId: message.runId, index: message.stepIndex }), message],
      textOfStep,
    ),
    callsOfStep: many(
      (keys: readonly StepKey[]) => listCallsOfSteps(db, reach, keys),
      (call) => [textOfStep({ runId: call.runId, index: call.stepIndex }), call],
      textOfStep,
    ),

    argumentsOfCall: ofMap((ids) => findToolCallArguments(db, reach, ids)),
    resultOfCall: ofMap((ids) => findToolResults(db, reach, ids)),
    toolByName: one(
      (names) => findToolsByName(db, reach, names),
      (tool) => tool.name,
    ),
    toolsOfMcpServer: many(
      (serverIds) => listToolsOfMcpServers(db, reach, serverIds),
      (tool) => [tool.mcpServerId, tool],
    ),
  }
}

function textOfFile({ conversationId, key }: FilePlace): string {
  return `${conversationId} ${key}`
}

function textOfStep({ runId, index }: { readonly runId: StepKey['runId']; readonly index: number | null }): string {
  return `${runId} ${index}`
}

function byId<Node extends { readonly id: string }>(list: (ids: readonly string[]) => Promise<readonly Node[]>) {
  return one(list, (node) => node.id)
}

/** One object for each key. */
function one<Node, Key = string>(
  list: (keys: readonly Key[]) => Promise<readonly Node[]>,
  keyOf: (node: Node) => string,
  textOf: (key: Key) => string = String,
) {
  const load = async (keys: readonly Key[]) => {
    const found = new Map((await list(keys)).map((node) => [keyOf(node), node]))
    return keys.map((key) => found.get(textOf(key)))
  }
  return new DataLoader<Key, Node | undefined, string>(load, { cacheKeyFn: textOf })
}

function ofMap<Value>(find: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>) {
  return new DataLoader<string, Value | undefined>(async (keys) => {
    const found = await find(keys)
    return keys.map((key) => found.get(key))
  })
}

/** Several objects for each key, in the order of `list`. */
function many<Row, Node, Key = string>(
  list: (keys: readonly Key[]) => Promise<readonly Row[]>,
  split: (row: Row) => readonly [key: string, node: Node],
  textOf: (key: Key) => string = String,
) {
  const load = async (keys: readonly Key[]) => {
    const found = Map.groupBy((await list(keys)).map(split), ([key]) => key)
    return keys.map((key) => (found.get(textOf(key)) ?? []).map(([, node]) => node))
  }
  return new DataLoader<Key, readonly Node[], string>(load, { cacheKeyFn: textOf })
}
