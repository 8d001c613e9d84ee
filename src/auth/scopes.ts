import type { ApiScope } from '../domain/viewer.ts'

/** One of these scopes is enough. An empty list lets every authenticated client in. */
export type RequiredScopes = readonly ApiScope[]

const read: RequiredScopes = ['READ']
const run: RequiredScopes = ['RUN']
const manage: RequiredScopes = ['MANAGE']

/**
 * The scopes of every operation. The server does not start if an operation has no entry here. Some commands check more:
 * what `submitApprovals` needs depends on its decisions.
 */
export const operationScopes: Readonly<Record<string, Readonly<Record<string, RequiredScopes>>>> = {
  Query: {
    agent: read,
    agents: read,
    apiKeys: manage,
    auditLog: manage,
    block: read,
    blocks: read,
    conversation: read,
    conversations: read,
    mcpServers: read,
    models: read,
    node: read,
    nodes: read,
    run: read,
    runs: read,
    tool: read,
    toolCalls: read,
    tools: read,
    viewer: [],
    workers: manage,
  },
  Mutation: {
    addMcpServer: manage,
    archiveConversation: run,
    attachBlock: manage,
    attachTool: manage,
    cancelRun: run,
    claimToolCall: run,
    clearConversation: run,
    compactConversation: run,
    createAgent: manage,
    createApiKey: manage,
    createBlock: manage,
    createConversation: run,
    createSleeptimeGroup: manage,
    createToken: manage,
    deleteAgent: manage,
    deleteBlock: manage,
    deleteConversation: run,
    deleteSleeptimeGroup: manage,
    deleteTool: manage,
    detachBlock: manage,
    detachTool: manage,
    editMessage: run,
    importAgent: manage,
    refreshMcpServer: manage,
    regenerate: run,
    removeMcpServer: manage,
    retryRun: run,
    revokeApiKey: manage,
    selectBranch: run,
    sendMessage: run,
    setToolApproval: manage,
    submitApprovals: ['APPROVE', 'RUN'],
    unarchiveConversation: run,
    updateAgent: manage,
    updateBlock: manage,
    updateConversation: run,
    updateSleeptimeGroup: manage,
    updateTool: manage,
    upsertAgent: manage,
    upsertTool: manage,
  },
  Subscription: { approvalInbox: read, conversationEvents: read, runChanges: read, runEvents: read },
}

/** Types whose fields need more than the operation that leads to them. */
export const typeScopes: Readonly<Record<string, RequiredScopes>> = {
  ApiKey: manage,
  AuditEntry: manage,
  Worker: manage,
}

/**
 * A mutation answers with the object that it changed, whatever the scopes. From there on, fields that lead to other
 * objects need READ. These do not: whoever sends a message must see which calls wait for it.
 */
export const linksWithoutRead: ReadonlySet<string> = new Set(['Run.pendingToolCalls'])
