import type { ApiScope } from '../domain/access/viewer.ts'

/** One of these scopes is enough. An empty list admits every authenticated client. */
export type RequiredScopes = readonly ApiScope[]

/**
 * How much of the tenant an operation or a field covers. A viewer who is limited to less may not use it; of what it
 * covers, such a viewer finds and changes only what is within reach.
 */
export type Breadth = 'conversation' | 'agent' | 'tenant'

interface Access {
  readonly scopes: RequiredScopes
  readonly breadth: Breadth
}

const access = (...scopes: RequiredScopes) => ({
  conversation: { scopes, breadth: 'conversation' } as const,
  agent: { scopes, breadth: 'agent' } as const,
  tenant: { scopes, breadth: 'tenant' } as const,
})
const anyone = access()
const read = access('READ')
const run = access('RUN')
const approve = access('APPROVE')
const approveOrRun = access('APPROVE', 'RUN')
const manage = access('MANAGE')

/**
 * Who may use each operation: `read.agent` needs the scope READ, and a viewer who is limited to agents at most. The
 * server does not start if an operation has no entry here. Some commands check more: what `submitApprovals` needs
 * depends on its decisions.
 */
export const operationAccess: Readonly<Record<string, Readonly<Record<string, Access>>>> = {
  Query: {
    agent: read.conversation,
    agents: read.conversation,
    apiKeys: manage.tenant,
    auditLog: manage.tenant,
    block: read.conversation,
    blocks: read.conversation,
    budgets: read.agent,
    conversation: read.conversation,
    conversations: read.conversation,
    mcpServers: read.conversation,
    models: read.conversation,
    node: read.conversation,
    nodes: read.conversation,
    rateLimit: anyone.conversation,
    run: read.conversation,
    runs: read.conversation,
    schedule: read.conversation,
    schedules: read.conversation,
    tool: read.conversation,
    toolCalls: read.conversation,
    tools: read.conversation,
    webhook: manage.tenant,
    webhooks: manage.tenant,
    usage: read.agent,
    viewer: anyone.conversation,
    workers: manage.tenant,
  },
  Mutation: {
    addMcpServer: manage.tenant,
    addPassages: manage.agent,
    archiveConversation: run.conversation,
    attachBlock: manage.agent,
    attachTool: manage.agent,
    cancelRun: run.conversation,
    claimToolCall: run.conversation,
    clearConversation: run.conversation,
    compactConversation: run.conversation,
    createAgent: manage.tenant,
    createApiKey: manage.tenant,
    continueRun: approve.conversation,
    createBlock: manage.tenant,
    createBudget: manage.tenant,
    createConversation: run.agent,
    createDecisionLink: manage.tenant,
    createSleeptimeGroup: manage.tenant,
    createSchedule: manage.agent,
    createToken: manage.conversation,
    createWebhook: manage.tenant,
    deleteAgent: manage.agent,
    deleteBlock: manage.tenant,
    deletePassages: manage.agent,
    deleteBudget: manage.tenant,
    deleteConversation: run.conversation,
    deleteSleeptimeGroup: manage.tenant,
    deleteSchedule: manage.agent,
    deleteTool: manage.tenant,
    deleteWebhook: manage.tenant,
    detachBlock: manage.agent,
    detachTool: manage.agent,
    editMessage: run.conversation,
    forkConversation: run.agent,
    importAgent: manage.tenant,
    refreshMcpServer: manage.tenant,
    regenerate: run.conversation,
    removeMcpServer: manage.tenant,
    resendWebhookDelivery: manage.tenant,
    retryRun: run.conversation,
    revokeApiKey: manage.tenant,
    rotateWebhookSecret: manage.tenant,
    selectBranch: run.conversation,
    sendMessage: run.conversation,
    setToolApproval: manage.agent,
    submitApprovals: approveOrRun.conversation,
    testWebhook: manage.tenant,
    triggerSchedule: run.conversation,
    unarchiveConversation: run.conversation,
    updateAgent: manage.agent,
    updateBlock: manage.tenant,
    updateBudget: manage.tenant,
    updateConversation: run.conversation,
    updateSchedule: manage.agent,
    updateSleeptimeGroup: manage.tenant,
    updateTool: manage.tenant,
    updateWebhook: manage.tenant,
    uploadFile: run.conversation,
    upsertAgent: manage.tenant,
    upsertTool: manage.tenant,
  },
  Subscription: {
    approvalInbox: read.conversation,
    conversationEvents: read.conversation,
    runChanges: read.conversation,
    runEvents: read.conversation,
  },
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
  const [type = '', field = ''] = name.split('.')
  const operations = operationAccess[type]
  if (operations) return operations[field]?.breadth ?? 'tenant'
  if (Object.hasOwn(typeScopes, type)) return 'tenant'
  return agentFields.has(name) ? 'agent' : 'conversation'
}

/** Types whose fields need more than the operation that leads to them. They belong to no agent. */
export const typeScopes: Readonly<Record<string, RequiredScopes>> = {
  ApiKey: ['MANAGE'],
  AuditEntry: ['MANAGE'],
  Webhook: ['MANAGE'],
  WebhookDelivery: ['MANAGE'],
  Worker: ['MANAGE'],
}

/**
 * A mutation returns the object that it changed, whatever the viewer's scopes. From there on, fields that lead to other
 * objects need READ, except these: whoever sends a message must see which calls it waits for.
 */
export const linksWithoutRead: ReadonlySet<string> = new Set(['Run.pendingToolCalls'])
