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
import { findTools, findToolsByName } from '../store/tools/tools.ts'
import { findBudgets } from '../store/usage/budgets.ts'
import { findDeliveries } from '../store/webhooks/deliveries.ts'
import { findWebhooks } from '../store/webhooks/webhooks.ts'
import { listWorkers } from '../store/workers/workers.ts'
import DataLoader from 'dataloader'

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
  const { byId, one, many, ofMap } = loadersFor(db, reach)
  return {
    agents: byId(findAgents),
    agentTools: byId(findAgentTools),
    apiKeys: byId(findApiKeys),
    auditEntries: byId(findAuditEntries),
    budgets: byId(findBudgets),
    blocks: byId(findBlocks),
    conversations: byId(findConversations),
    files: one(findFiles, textOfFile, textOfFile),
    mcpServers: byId(findMcpServers),
    messages: byId(findMessages),
    passages: byId(findPassages),
    runs: byId(findRuns),
    schedules: byId(findSchedules),
    sleeptimeGroups: byId(findSleeptimeGroups),
    steps: one(findSteps, textOfStep, textOfStep),
    tools: byId(findTools),
    toolCalls: byId(findToolCalls),
    webhooks: byId(findWebhooks),
    webhookDeliveries: byId(findDeliveries),
    /** Workers belong to no tenant: every process drives the runs of all tenants. */
    workers: byId((_db, _reach, ids) => listWorkers(db, ids)),

    toolsOfAgent: many(listToolsOfAgents, (agentTool) => [agentTool.agentId, agentTool]),
    blocksOfAgent: many(listBlocksOfAgents, ({ agentId, block }) => [agentId, block]),
    mainConversationOfAgent: one(listMainConversations, (conversation) => conversation.agentId),
    sleeptimeGroupOfAgent: one(findSleeptimeGroupsOfAgents, (group) => group.agentId),
    lastStopReasonOfAgent: ofMap(findLastStopReasonsOfAgents),

    agentsOfBlock: many(listSomeAgentsOfBlocks, ({ blockId, agent }) => [blockId, agent]),
    /** The id of the message up to which a group has read. */
    lastProcessedMessageOfGroup: ofMap(findLastProcessedMessageIds),

    conversationHeads: one(findConversationHeads, (head) => head.conversationId),
    blocksOfConversation: many(listBlocksOfConversations, ({ conversationId, block }) => [conversationId, block]),
    lastActivityOfConversation: ofMap(findLastActivity),
    lastStopReasonOfConversation: ofMap(findLastStopReasonsOfConversations),
    contentOfMessage: ofMap(findMessageContents),

    inputOfRun: ofMap(findRunInputs),
    metadataOfRun: ofMap(findRunMetadata),
    clientToolsOfRun: ofMap(findClientToolNames),
    answerOfRun: ofMap(findAnswers),
    previousRun: ofMap(listPreviousRuns),
    versionsOfRun: many(listVersionsOfRuns, ({ versionOf, run }) => [versionOf, run]),
    childrenOfRun: many(listChildrenOfRuns, ({ parentId, run }) => [parentId, run]),
    stepsOfRun: many(listStepsOfRuns, (step) => [step.runId, step]),
    pendingCallsOfRun: many(listPendingCallsOfRuns, (call) => [call.runId, call]),

    exchangeOfStep: one(findStepExchanges, textOfStep, textOfStep),
    messagesOfStep: many(
      listMessagesOfSteps,
      (message) => [textOfStep({ runId: message.runId, index: message.stepIndex }), message],
      textOfStep,
    ),
    callsOfStep: many(
      listCallsOfSteps,
      (call) => [textOfStep({ runId: call.runId, index: call.stepIndex }), call],
      textOfStep,
    ),

    argumentsOfCall: ofMap(findToolCallArguments),
    resultOfCall: ofMap(findToolResults),
    toolByName: one(findToolsByName, (tool) => tool.name),
    toolsOfMcpServer: many(listToolsOfMcpServers, (tool) => [tool.mcpServerId, tool]),
  }
}

function textOfFile({ conversationId, key }: FilePlace): string {
  return `${conversationId} ${key}`
}

function textOfStep({ runId, index }: { readonly runId: StepKey['runId']; readonly index: number | null }): string {
  return `${runId} ${index}`
}

type Find<Key, Found> = (db: Db, reach: Reach, keys: readonly Key[]) => Promise<Found>

/** The kinds of loaders. A key that is not a text has one (`textOf`) by which it is known. */
function loadersFor(db: Db, reach: Reach) {
  /** One object for each key. */
  function one<Node, Key = string>(
    find: Find<Key, readonly Node[]>,
    keyOf: (node: Node) => string,
    textOf: (key: Key) => string = String,
  ) {
    const load = async (keys: readonly Key[]) => {
      const found = new Map((await find(db, reach, keys)).map((node) => [keyOf(node), node]))
      return keys.map((key) => found.get(textOf(key)))
    }
    return new DataLoader<Key, Node | undefined, string>(load, { cacheKeyFn: textOf })
  }

  return {
    one,
    byId<Node extends { readonly id: string }>(find: Find<string, readonly Node[]>) {
      return one(find, (node) => node.id)
    },
    ofMap<Value>(find: Find<string, ReadonlyMap<string, Value>>) {
      return new DataLoader<string, Value | undefined>(async (keys) => {
        const found = await find(db, reach, keys)
        return keys.map((key) => found.get(key))
      })
    },
    /** Several objects for each key, in the order of `find`. */
    many<Row, Node, Key = string>(
      find: Find<Key, readonly Row[]>,
      split: (row: Row) => readonly [key: string, node: Node],
      textOf: (key: Key) => string = String,
    ) {
      const load = async (keys: readonly Key[]) => {
        const found = Map.groupBy((await find(db, reach, keys)).map(split), ([key]) => key)
        return keys.map((key) => (found.get(textOf(key)) ?? []).map(([, node]) => node))
      }
      return new DataLoader<Key, readonly Node[], string>(load, { cacheKeyFn: textOf })
    },
  }
}
