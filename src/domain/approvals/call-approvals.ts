import { sameJson, type Json, type JsonObject } from '../../util/json.ts'
import { isSameActor, type Actor } from '../access/actor.ts'
import { encodeId } from '../ids.ts'
import {
  approvalScopes,
  type Approval,
  type ApprovalScope,
  type ApprovalTerms,
  type ToolCall,
} from '../tools/tool-call.ts'
import type { Tool } from '../tools/tool.ts'

export type ApprovableCall = Pick<ToolCall, 'needs' | 'approval' | 'decision' | 'decidedAt'>

/** Null means one approval by anybody, which is what most tools need. */
export function approvalTerms(tool: Pick<Tool, 'approvalsRequired' | 'approvalExcludesSender'>): ApprovalTerms | null {
  const { approvalsRequired: required, approvalExcludesSender: excludesSender } = tool
  return required > 1 || excludesSender ? { required, excludesSender, given: [] } : null
}

/** How many different actors must approve the call. 0 if it needs no approval. */
export function approvalsRequired({ needs, approval }: Pick<ApprovableCall, 'needs' | 'approval'>): number {
  return needs === 'APPROVAL' ? (approval?.required ?? 1) : 0
}

/** The approvals that count, oldest first. The one that settled the call is its decision. */
export function approvalsOf({ approval, decision, decidedAt }: ApprovableCall): Approval[] {
  const earlier = approval?.given ?? []
  if (decision?.kind !== 'APPROVED' || decision.actor === null || decidedAt === null) return [...earlier]
  const { actor, note, scope, followUpHash } = decision
  const last = {
    actor,
    note,
    scope: scope ?? 'ONCE',
    at: decidedAt.toISOString(),
    ...(followUpHash && { followUpHash }),
  }
  return [...earlier, last]
}

/**
 * The earlier approvals that still count together with a new one: those by other actors, for the same arguments. Each
 * actor counts once, and an approval only covers the arguments that it was given for.
 */
export function approvalsBeside(
  { approval, editedArguments }: Pick<ToolCall, 'approval' | 'editedArguments'>,
  { actor, edited }: { readonly actor: Actor; readonly edited: Json },
): Approval[] {
  if (!approval || !sameJson(edited, editedArguments)) return []
  return approval.given.filter((given) => !isSameActor(given.actor, actor))
}

/** The narrowest scope among a call's approvals, which is what they grant together. */
export function narrowestScope(approvals: readonly Pick<Approval, 'scope'>[]): ApprovalScope {
  const reach = approvals.map(({ scope }) => approvalScopes.indexOf(scope))
  return approvalScopes[Math.min(...reach)] ?? 'ONCE'
}

/** The notes to the model by the people who approved a call. */
export function notesOfApprovals(call: ApprovableCall): string[] {
  const approvals = call.decision?.kind === 'APPROVED' ? approvalsOf(call) : []
  return approvals.flatMap(({ note }) => note ?? [])
}

/** What was decided about the calls of a run, and who decided. `actor` is null for approvals that expired. */
export interface MadeDecision {
  readonly actor: Actor | null
  readonly shown: JsonObject
}

/** The decisions and approvals that are in `after` but not in `before`. */
export function decisionsMade(before: readonly ToolCall[], after: readonly ToolCall[]): MadeDecision[] {
  return after.flatMap((call): MadeDecision[] => {
    const earlier = before.find(({ id }) => id === call.id)
    const about = { toolCallId: encodeId('ToolCall', call.id), tool: call.name }
    const { decision } = call
    if (decision && !earlier?.decision) {
      const { kind, reason, note, scope, actor } = decision
      return [{ actor, shown: { ...about, ...given({ decision: kind, reason, note, scope }) } }]
    }
    return approvalsOf(call)
      .slice(earlier ? approvalsOf(earlier).length : 0)
      .map(({ actor, note, scope }) => ({
        actor,
        shown: { ...about, ...given({ decision: 'APPROVED', note, scope }) },
      }))
  })
}

function given(values: Readonly<Record<string, Json>>): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))
}
