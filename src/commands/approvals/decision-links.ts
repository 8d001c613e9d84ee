import type { DecisionLink, DecisionLinks, DecisionState, DecisionView } from '../../auth/decision-links.ts'
import { requireScope } from '../../auth/require-scope.ts'
import { isSameActor, type Actor } from '../../domain/access/actor.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { approvalsOf, approvalsRequired } from '../../domain/approvals/call-approvals.ts'
import { badUserInput, HoldpointError } from '../../domain/errors.ts'
import { encodeId } from '../../domain/ids.ts'
import { checkedName, checkedNumber } from '../../domain/input.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { ToolCallOutline } from '../../domain/tools/tool-call.ts'
import { findAgents } from '../../store/agents/agents.ts'
import { findRuns } from '../../store/runs/runs.ts'
import { findToolCallArguments, findToolCalls } from '../../store/tools/tool-calls.ts'
import { cutText, storableText } from '../../util/json.ts'
import type { CommandContext } from '../command-context.ts'
import { foundOne } from '../found.ts'
import { changeOf, recordChange } from '../record-change.ts'
import { submitApprovals } from './submit-approvals.ts'

export interface CreateDecisionLinkInput {
  readonly toolCallId: string
  readonly personId: string
  readonly personName: string
  readonly validForMs: number
}

export interface CreatedDecisionLink {
  readonly url: string
  readonly expiresAt: Date
}

export const dayMs = 86_400_000

/** An address where one person decides one call. Whoever makes it lets that person decide, so it needs both scopes. */
export async function createDecisionLink(
  context: CommandContext & { readonly decisionLinks: DecisionLinks },
  viewer: Viewer,
  input: CreateDecisionLinkInput,
): Promise<CreatedDecisionLink> {
  for (const scope of ['APPROVE', 'MANAGE'] as const) requireScope(viewer, [scope], 'Creating a decision link')
  const { db, clock, decisionLinks, publicUrl } = context
  if (publicUrl === undefined) throw new HoldpointError('BAD_REQUEST', noPublicUrl)
  const { toolCallId } = input
  const person = {
    id: checkedName('input.personId', input.personId, { max: 200 }),
    name: checkedName('input.personName', input.personName, { max: 200 }),
  }
  const validForMs = checkedNumber('input.validForMs', input.validForMs, { from: 1, to: 7 * dayMs })
  const call = await foundOne('ToolCall', toolCallId, findToolCalls(db, viewer, [toolCallId]))
  if (call.needs !== 'APPROVAL') throw badUserInput('input.toolCallId', 'It needs no approval.')
  if (call.status !== 'PENDING')
    throw badUserInput('input.toolCallId', `It is ${call.status}. Expected a call that waits for approval.`)
  const { tenantId, keyId } = viewer
  const expiresAt = new Date(clock.now().getTime() + validForMs)
  const token = await decisionLinks.sign({ tenantId, keyId, toolCallId, person, expiresAt })
  // A link is not stored. The entry does not have its address.
  const made = { id: toolCallId, personId: person.id, personName: person.name, expiresAt }
  await recordChange(context, db, viewer, changeOf('createDecisionLink', 'ToolCall', null, made))
  return { url: `${publicUrl}/decide/${token}`, expiresAt }
}

const noPublicUrl =
  'This server does not know under which address people reach it. Set HOLDPOINT_PUBLIC_URL, such as https://agents.example.com, and start it again.'

/** What a link shows now. 'gone' if the call was deleted. Undefined if the link is not one of ours. */
export async function openDecisionLink(
  context: CommandContext & { readonly decisionLinks: DecisionLinks },
  token: string,
): Promise<DecisionView | 'gone' | undefined> {
  const link = await context.decisionLinks.open(token)
  if (!link) return undefined
  const { db, clock } = context
  const found = await findCall(context, link)
  if (!found) return 'gone'
  const { call, run } = found
  const [agent] = await findAgents(db, link, [run.agentId])
  const texts = (await findToolCallArguments(db, link, [call.id])).get(call.id)
  const ends = call.expiresAt && call.expiresAt < link.expiresAt ? call.expiresAt : link.expiresAt
  return {
    personName: link.person.name,
    agentName: agent?.name ?? 'a deleted agent',
    toolName: call.name,
    arguments: texts?.arguments ?? texts?.argumentsText ?? null,
    askedBy: run.sentBy?.name ?? null,
    askedAt: call.createdAt,
    until: ends,
    approvedBy: approvalsOf(call).map(({ actor }) => actor.name),
    approvalsRequired: approvalsRequired(call),
    state: stateOf(call, run, link, clock.now()),
  }
}

function stateOf(
  call: ToolCallOutline,
  run: Run,
  link: DecisionLink & { readonly isRevoked: boolean },
  now: Date,
): DecisionState {
  const { decision, decidedAt } = call
  if (decision && decidedAt)
    return {
      kind: 'decided',
      decision: decision.kind,
      by: decision.actor?.name ?? null,
      at: decidedAt,
      reason: decision.reason,
    }
  if (call.status !== 'PENDING') return { kind: 'closed', why: 'cancelled' }
  if (link.isRevoked) return { kind: 'closed', why: 'revoked' }
  if (link.expiresAt <= now) return { kind: 'closed', why: 'expired' }
  const actor = actorOf(link)
  const isSender = run.sentBy !== null && isSameActor(run.sentBy, actor)
  const hasApproved = approvalsOf(call).some((approval) => isSameActor(approval.actor, actor))
  return { kind: 'open', mayApprove: !(isSender && call.approval?.excludesSender), hasApproved }
}

/**
 * Decides as the person of the link, if the link is still good. Whatever else happened first, the page says so. False
 * if the link is not one of ours.
 */
export async function decideByLink(
  context: CommandContext & { readonly decisionLinks: DecisionLinks },
  token: string,
  { approves, reason }: { readonly approves: boolean; readonly reason: string },
): Promise<boolean> {
  const link = await context.decisionLinks.open(token)
  if (!link) return false
  const found = await findCall(context, link)
  if (!found || stateOf(found.call, found.run, link, context.clock.now()).kind !== 'open') return true
  const { tenantId, keyId, expiresAt } = link
  const toolCallId = encodeId('ToolCall', found.call.id)
  const text = cutText(storableText(reason.trim()), 2_000)
  const viewer: Viewer = {
    ...{ tenantId, keyId, expiresAt, actor: actorOf(link), scopes: ['APPROVE'] },
    ...{ allowedAgentIds: null, allowedConversationIds: null },
  }
  await submitApprovals(context, viewer, {
    runId: found.run.id,
    decisions: [
      approves
        ? { kind: 'APPROVED', toolCallId, arguments: undefined, note: null, scope: 'ONCE' }
        : { kind: 'DENIED', toolCallId, reason: text === '' ? null : text },
    ],
    followUp: [],
  })
  return true
}

async function findCall({ db }: Pick<CommandContext, 'db'>, { tenantId, toolCallId }: DecisionLink) {
  const [call] = await findToolCalls(db, { tenantId }, [toolCallId])
  const [run] = call ? await findRuns(db, { tenantId }, [call.runId]) : []
  return call && run && { call, run }
}

function actorOf({ person }: DecisionLink): Actor {
  return { kind: 'PERSON', ...person }
}
