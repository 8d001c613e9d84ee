import DataLoader from 'dataloader'

import type { CommandContext } from '../commands/command-context.ts'
import type { ApiKey } from '../domain/access/api-key.ts'
import type { AuditEntry } from '../domain/access/audit.ts'
import type { FilePlace, StoredFile } from '../domain/files/file.ts'
import type { McpServer } from '../domain/tools/mcp-server.ts'
import type { GivenMessage, MessageOutline } from '../domain/conversations/message.ts'
import type { Run, StopReason } from '../domain/run.ts'
import type { SleeptimeGroup } from '../domain/memory/sleeptime-group.ts'
import type { Step } from '../domain/runs/step.ts'
import type { ToolCallArguments, ToolCallOutline, ToolResult } from '../domain/tools/tool-call.ts'
import type { Tool } from '../domain/tools/tool.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { findApiKeys } from '../store/api-keys.ts'
import { findAuditEntries } from '../store/audit-entries.ts'
import { listPreviousRuns, listVersionsOfRuns } from '../store/conversations/branches.ts'
import { findConversationHeads, type ConversationHead } from '../store/conversation-heads.ts'
import { findLastActivity } from '../store/conversations/conversation-list.ts'
import { findFiles } from '../store/files/files.ts'
import { findLastStopReasonsOfAgents, findLastStopReasonsOfConversations } from '../store/conversations/last-stop-reasons.ts'
import { findMcpServers, listToolsOfMcpServers } from '../store/mcp-servers.ts'
import {
  findAnswers,
  findMessageContents,
  findMessages,
  listMessagesOfSteps,
  type ShownContent,
} from '../store/conversations/messages.ts'
import {
  findClientToolNames,
  findRunInputs,
  findRunMetadata,
  findRuns,
  listChildrenOfRuns,
  listQueuedRuns,
} from '../store/runs/runs.ts'
import {
  findLastProcessedMessageIds,
  findSleeptimeGroups,
  findSleeptimeGroupsOfAgents,
} from '../store/memory/sleeptime-groups.ts'
import { findStepExchanges, type StepExchange } from '../store/step-exchanges.ts'
import { findSteps, listStepsOfRuns, type StepKey } from '../store/runs/steps.ts'
import {
  findToolCallArguments,
  findToolCalls,
  findToolResults,
  findToolsByName,
  listCallsOfSteps,
  listPendingCallsOfRuns,
} from '../store/tools/tool-calls.ts'
import type { JsonObject } from '../util/json.ts'
import { loaderBy, loaderById, loaderByOwner } from './configuration-loaders.ts'

type OneById<Value> = DataLoader<string, Value | undefined>
type ManyById<Value> = DataLoader<string, readonly Value[]>

export interface RunLoaders {
  readonly runs: OneById<Run>
  readonly inputOfRun: OneById<readonly GivenMessage[]>
  readonly metadataOfRun: OneById<JsonObject>
  readonly clientToolsOfRun: OneById<readonly { readonly name: string }[]>
  readonly childrenOfRun: ManyById<Run>
  readonly previousRun: OneById<Run>
  readonly versionsOfRun: ManyById<Run>
  readonly answerOfRun: OneById<string>
  readonly steps: DataLoader<StepKey, Step | undefined, string>
  readonly exchangeOfStep: DataLoader<StepKey, StepExchange | undefined, string>
  readonly stepsOfRun: ManyById<Step>
  readonly messages: OneById<MessageOutline>
  readonly messagesOfStep: DataLoader<StepKey, readonly MessageOutline[], string>
  readonly contentOfMessage: OneById<ShownContent>
  readonly toolCalls: OneById<ToolCallOutline>
  readonly argumentsOfCall: OneById<ToolCallArguments>
  readonly resultOfCall: OneById<ToolResult>
  readonly callsOfStep: DataLoader<StepKey, readonly ToolCallOutline[], string>
  readonly pendingCallsOfRun: ManyById<ToolCallOutline>
  readonly toolByName: OneById<Tool>
  readonly conversationHeads: OneById<ConversationHead>
  readonly queueOfConversation: ManyById<Run>
  readonly lastActivityOfConversation: OneById<Date>
  readonly lastStopReasonOfConversation: OneById<StopReason>
  readonly lastStopReasonOfAgent: OneById<StopReason>
  readonly sleeptimeGroups: OneById<SleeptimeGroup>
  readonly sleeptimeGroupOfAgent: OneById<SleeptimeGroup>
  /** The id of the message up to which a group has read. */
  readonly lastProcessedMessageOfGroup: OneById<string>
  readonly mcpServers: OneById<McpServer>
  readonly toolsOfMcpServer: ManyById<Tool>
  readonly apiKeys: OneById<ApiKey>
  readonly auditEntries: OneById<AuditEntry>
  readonly files: DataLoader<FilePlace, StoredFile | undefined, string>
}

/** Loads runs and what belongs to them, in batches. Every statement is filtered by the tenant. */
export function createRunLoaders(db: CommandContext['db'], reach: Reach): RunLoaders {
  return {
    runs: loaderById((ids) => findRuns(db, reach, ids)),
    inputOfRun: loaderOfMap((ids) => findRunInputs(db, reach, ids)),
    metadataOfRun: loaderOfMap((ids) => findRunMetadata(db, reach, ids)),
    clientToolsOfRun: loaderOfMap((ids) => findClientToolNames(db, reach, ids)),
    childrenOfRun: loaderByOwner(
      (runIds) => listChildrenOfRuns(db, reach, runIds),
      ({ parentId, run }) => [parentId, run],
    ),
    previousRun: loaderOfMap((runIds) => listPreviousRuns(db, reach, runIds)),
    versionsOfRun: loaderByOwner(
      (runIds) => listVersionsOfRuns(db, reach, runIds),
      ({ versionOf, run }) => [versionOf, run],
    ),
    answerOfRun: loaderOfMap((runIds) => findAnswers(db, reach, runIds)),
    steps: loaderByStep(async (keys) => {
      const found = new Map((await findSteps(db, reach, keys)).map((step) => [stepKey(step), step]))
      return keys.map((key) => found.get(stepKey(key)))
    }),
    exchangeOfStep: loaderByStep(async (keys) => {
      const found = new Map((await findStepExchanges(db, reach, keys)).map((exchange) => [stepKey(exchange), exchange]))
      return keys.map((key) => found.get(stepKey(key)))
    }),
    stepsOfRun: loaderByOwner(
      (runIds) => listStepsOfRuns(db, reach, runIds),
      (step) => [step.runId, step],
    ),
    messages: loaderById((ids) => findMessages(db, reach, ids)),
    messagesOfStep: loaderByStep(async (keys) => groupBySteps(keys, await listMessagesOfSteps(db, reach, keys))),
    contentOfMessage: loaderOfMap((ids) => findMessageContents(db, reach, ids)),
    toolCalls: loaderById((ids) => findToolCalls(db, reach, ids)),
    argumentsOfCall: loaderOfMap((ids) => findToolCallArguments(db, reach, ids)),
    resultOfCall: loaderOfMap((ids) => findToolResults(db, reach, ids)),
    callsOfStep: loaderByStep(async (keys) => groupBySteps(keys, await listCallsOfSteps(db, reach, keys))),
    pendingCallsOfRun: loaderByOwner(
      (runIds) => listPendingCallsOfRuns(db, reach, runIds),
      (call) => [call.runId, call],
    ),
    toolByName: loaderBy(
      (names) => findToolsByName(db, reach, names),
      (tool) => tool.name,
    ),
    conversationHeads: loaderBy(
      (conversationIds) => findConversationHeads(db, reach, conversationIds),
      (head) => head.conversationId,
    ),
    queueOfConversation: loaderByOwner(
      (conversationIds) => listQueuedRuns(db, reach, conversationIds),
      (run) => [run.conversationId, run],
    ),
    lastActivityOfConversation: loaderOfMap((ids) => findLastActivity(db, reach, ids)),
    lastStopReasonOfConversation: loaderOfMap((ids) => findLastStopReasonsOfConversations(db, reach, ids)),
    lastStopReasonOfAgent: loaderOfMap((ids) => findLastStopReasonsOfAgents(db, reach, ids)),
    sleeptimeGroups: loaderById((ids) => findSleeptimeGroups(db, reach, ids)),
    sleeptimeGroupOfAgent: loaderBy(
      (agentIds) => findSleeptimeGroupsOfAgents(db, reach, agentIds),
      (group) => group.agentId,
    ),
    lastProcessedMessageOfGroup: loaderOfMap((groupIds) => findLastProcessedMessageIds(db, reach, groupIds)),
    mcpServers: loaderById((ids) => findMcpServers(db, reach, ids)),
    toolsOfMcpServer: loaderByOwner(
      (serverIds) => listToolsOfMcpServers(db, reach, serverIds),
      (tool) => [tool.mcpServerId, tool],
    ),
    apiKeys: loaderById((ids) => findApiKeys(db, reach, ids)),
    auditEntries: loaderById((ids) => findAuditEntries(db, reach, ids)),
    files: new DataLoader(
      async (places) => {
        const found = new Map((await findFiles(db, reach, places)).map((file) => [fileKey(file), file]))
        return places.map((place) => found.get(fileKey(place)))
      },
      { cacheKeyFn: fileKey },
    ),
  }
}

function fileKey({ conversationId, key }: FilePlace): string {
  return `${conversationId} ${key}`
}

function loaderOfMap<Value>(find: (ids: readonly string[]) => Promise<Map<string, Value>>) {
  return new DataLoader<string, Value | undefined>(async (ids) => {
    const found = await find(ids)
    return ids.map((id) => found.get(id))
  })
}

function loaderByStep<Value>(list: (keys: readonly StepKey[]) => Promise<Value[]>) {
  return new DataLoader<StepKey, Value, string>(list, { cacheKeyFn: stepKey })
}

function groupBySteps<Value extends { readonly runId: string; readonly stepIndex: number | null }>(
  keys: readonly StepKey[],
  values: readonly Value[],
): (readonly Value[])[] {
  const found = Map.groupBy(values, (value) => stepKey({ runId: value.runId, index: value.stepIndex! }))
  return keys.map((key) => found.get(stepKey(key)) ?? [])
}

function stepKey(key: StepKey): string {
  return `${key.runId} ${key.index}`
}
