import type { ApiScope } from '../domain/access/viewer.ts'

/** One of these scopes is enough. An empty list admits every authenticated client. */
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
    budgets: read,
    conversation: read,
    conversations: read,
    mcpServers: read,
    models: read,
    node: read,
    nodes: read,
    rateLimit: [],
    run: read,
    runs: read,
    schedule: read,
    schedules: read,
    tool: read,
    toolCalls: read,
    tools: read,
    webhook: manage,
    webhooks: manage,
    usage: read,
    viewer: [],
    workers: manage,
  },
  Mutation: {
    addMcpServer: manage,
    addPassages: manage,
    archiveConversation: run,
    attachBlock: manage,
    attachTool: manage,
    cancelRun: run,
    claimToolCall: run,
    clearConversation: run,
    compactConversation: run,
    createAgent: manage,
    createApiKey: manage,
    continueRun: ['APPROVE'],
    createBlock: manage,
    createBudget: manage,
    createConversation: run,
    createDecisionLink: manage,
    createSleeptimeGroup: manage,
    createSchedule: manage,
    createToken: manage,
    createWebhook: manage,
    deleteAgent: manage,
    deleteBlock: manage,
    deletePassages: manage,
    deleteBudget: manage,
    deleteConversation: run,
    deleteSleeptimeGroup: manage,
    deleteSchedule: manage,
    deleteTool: manage,
    deleteWebhook: manage,
    detachBlock: manage,
    detachTool: manage,
    editMessage: run,
    forkConversation: run,
    importAgent: manage,
    refreshMcpServer: manage,
    regenerate: run,
    removeMcpServer: manage,
    resendWebhookDelivery: manage,
    retryRun: run,
    revokeApiKey: manage,
    rotateWebhookSecret: manage,
    selectBranch: run,
    sendMessage: run,
    setToolApproval: manage,
    submitApprovals: ['APPROVE', 'RUN'],
    testWebhook: manage,
    triggerSchedule: run,
    unarchiveConversation: run,
    updateAgent: manage,
    updateBlock: manage,
    updateBudget: manage,
    updateConversation: run,
    updateSchedule: manage,
    updateSleeptimeGroup: manage,
    updateTool: manage,
    updateWebhook: manage,
    uploadFile: run,
    upsertAgent: manage,
    upsertTool: manage,
  },
  Subscription: { approvalInbox: read, conversationEvents: read, runChanges: read, runEvents: read },
}

/** How much of the tenant an operation or a field covers. A viewer who is limited to less may not use it. */
export type Breadth = 'conversation' | 'agent' | 'tenant'

/**
 * Operations for viewers who are limited to conversations or agents. They find and change only what is within the
 * viewer's reach. Any other operation needs a viewer of the whole tenant.
 */
const limitedOperations: Readonly<Record<Exclude<Breadth, 'tenant'>, readonly string[]>> = {
  conversation: [
    ...['Query.agent', 'Query.agents', 'Query.block', 'Query.blocks', 'Query.conversation', 'Query.conversations'],
    ...['Query.mcpServers', 'Query.models', 'Query.node', 'Query.nodes', 'Query.run', 'Query.runs', 'Query.tool'],
    ...['Query.schedule', 'Query.schedules', 'Mutation.triggerSchedule'],
    ...['Query.rateLimit', 'Query.toolCalls', 'Query.tools', 'Query.viewer'],
    ...['Mutation.archiveConversation', 'Mutation.cancelRun', 'Mutation.claimToolCall', 'Mutation.clearConversation'],
    ...[
      'Mutation.compactConversation',
      'Mutation.continueRun',
      'Mutation.createToken',
      'Mutation.deleteConversation',
      'Mutation.editMessage',
    ],
    ...['Mutation.regenerate', 'Mutation.retryRun', 'Mutation.selectBranch', 'Mutation.sendMessage'],
    ...['Mutation.submitApprovals', 'Mutation.unarchiveConversation', 'Mutation.updateConversation'],
    'Mutation.uploadFile',
    ...['Subscription.approvalInbox', 'Subscription.conversationEvents', 'Subscription.runChanges'],
    'Subscription.runEvents',
  ],
  agent: [
    ...['Mutation.attachBlock', 'Mutation.attachTool', 'Mutation.createConversation', 'Mutation.deleteAgent'],
    ...[
      'Query.budgets',
      'Query.usage',
      'Mutation.createSchedule',
      'Mutation.deleteSchedule',
      'Mutation.updateSchedule',
    ],
    ...['Mutation.detachBlock', 'Mutation.detachTool', 'Mutation.forkConversation', 'Mutation.setToolApproval'],
    ...['Mutation.updateAgent', 'Mutation.addPassages', 'Mutation.deletePassages'],
  ],
}

/** Fields that show what an agent is told in all its conversations. */
const agentFields: ReadonlySet<string> = new Set([
  'Agent.export',
  'Agent.instructions',
  'Agent.passages',
  'Agent.searchPassages',
  'Conversation.context',
  'Step.request',
  'Step.response',
])

/** `name` is an operation or another field, such as `Mutation.sendMessage`. */
export function breadthOf(name: string): Breadth {
  if (/^(Query|Mutation|Subscription)\./.test(name)) {
    if (limitedOperations.conversation.includes(name)) return 'conversation'
    return limitedOperations.agent.includes(name) ? 'agent' : 'tenant'
  }
  if (Object.hasOwn(typeScopes, name.split('.')[0]!)) return 'tenant'
  return agentFields.has(name) ? 'agent' : 'conversation'
}

/** Types whose fields need more than the operation that leads to them. They belong to no agent. */
export const typeScopes: Readonly<Record<string, RequiredScopes>> = {
  ApiKey: manage,
  AuditEntry: manage,
  Webhook: manage,
  WebhookDelivery: manage,
  Worker: manage,
}

/**
 * A mutation returns the object that it changed, whatever the viewer's scopes. From there on, fields that lead to other
 * objects need READ, except these: whoever sends a message must see which calls it waits for.
 */
export const linksWithoutRead: ReadonlySet<string> = new Set(['Run.pendingToolCalls'])
