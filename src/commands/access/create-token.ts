import type { OwnTokens } from '../../auth/own-tokens.ts'
import { requireScope } from '../../auth/require-scope.ts'
import { checkedScopes } from '../../domain/access/api-key.ts'
import { checkedCount, checkedName, checkedNumber } from '../../domain/input.ts'
import type { ApiScope, Reach, Viewer } from '../../domain/access/viewer.ts'
import { findAgents } from '../../store/agents/agents.ts'
import { findConversations } from '../../store/conversations/conversations.ts'
import type { CommandContext } from '../command-context.ts'
import { allFound } from '../found.ts'
import { changeOf, recordChange } from '../record-change.ts'

export interface CreateTokenInput {
  readonly subject: string
  readonly name: string | null
  readonly scopes: readonly ApiScope[]
  /** Null means everything that the viewer may see. */
  readonly allowedAgentIds: readonly string[] | null
  readonly allowedConversationIds: readonly string[] | null
  readonly expiresInSeconds: number
}

export interface CreatedToken {
  readonly token: string
  readonly expiresAt: Date
}

const maxLimits = 100
const maxSeconds = 86_400

/** Creates a token that allows nothing that the viewer may not do, and that does not outlive the viewer's own token. */
export async function createToken(
  context: Pick<CommandContext, 'db' | 'clock' | 'ids'> & { readonly ownTokens: OwnTokens },
  viewer: Viewer,
  input: CreateTokenInput,
): Promise<CreatedToken> {
  const { db, clock, ownTokens } = context
  const subject = checkedName('input.subject', input.subject, { max: 200 })
  const name = input.name === null ? subject : checkedName('input.name', input.name, { max: 200 })
  const scopes = checkedScopes('input.scopes', input.scopes)
  for (const scope of scopes) requireScope(viewer, [scope], `A token with the scope ${scope}`)
  const seconds = checkedNumber('input.expiresInSeconds', input.expiresInSeconds, { from: 1, to: maxSeconds })
  const limits = await narrowed(db, viewer, input)
  const until = Math.min(clock.now().getTime() + seconds * 1000, viewer.expiresAt?.getTime() ?? Infinity)
  // Times in tokens are whole seconds.
  const expiresAt = new Date(Math.floor(until / 1000) * 1000)
  const claims = { subject, name, scopes, ...limits, expiresAt }
  const token = await ownTokens.sign(viewer, claims)
  // A token is not stored, so the entry's subject is its tenant.
  const made = { id: viewer.tenantId, ...claims }
  await recordChange(context, db, viewer, changeOf('createToken', 'Tenant', null, made))
  return { token, expiresAt }
}

/** The viewer's own limits, or those within them that the input names. */
async function narrowed(
  db: CommandContext['db'],
  { tenantId, allowedAgentIds, allowedConversationIds }: Viewer,
  input: CreateTokenInput,
): Promise<Required<Omit<Reach, 'tenantId'>>> {
  const within = { tenantId, allowedAgentIds, allowedConversationIds }
  const { allowedAgentIds: agentIds, allowedConversationIds: conversationIds } = input
  if (agentIds) {
    checkedCount('input.allowedAgentIds', agentIds, { max: maxLimits })
    allFound('Agent', agentIds, agentIds.length === 0 ? [] : await findAgents(db, within, agentIds))
    within.allowedAgentIds = agentIds
  }
  if (conversationIds) {
    checkedCount('input.allowedConversationIds', conversationIds, { max: maxLimits })
    const found = conversationIds.length === 0 ? [] : await findConversations(db, within, conversationIds)
    allFound('Conversation', conversationIds, found)
    within.allowedConversationIds = conversationIds
  }
  return { allowedAgentIds: within.allowedAgentIds, allowedConversationIds: within.allowedConversationIds }
}
