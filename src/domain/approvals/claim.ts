import { isSameActor, type Actor } from '../access/actor.ts'
import type { Draft } from '../runs/draft.ts'
import type { ToolCall, ToolCallClaim } from '../tools/tool-call.ts'

/** Who wants to execute a client tool's call, and for how long nobody else may. */
export interface ClaimRequest {
  readonly claimantId: string
  readonly actor: Actor
  readonly leaseMs: number
}

export type ClaimOutcome = 'claimed' | 'claimed by another' | 'already decided' | 'nothing pending' | 'not of a client'

/** The claim that is valid now. Null if there is none, or if it has expired. */
export function currentClaim({ claim }: Pick<ToolCall, 'claim'>, now: Date): ToolCallClaim | null {
  return claim && new Date(claim.expiresAt) > now ? claim : null
}

/** Claims a call that waits for a client, or extends the client's own claim. In all other cases nothing changes. */
export function claimCall(draft: Draft, call: ToolCall, { claimantId, actor, leaseMs }: ClaimRequest): ClaimOutcome {
  if (call.decision?.actor) return 'already decided'
  if (call.status !== 'PENDING') return 'nothing pending'
  if (call.needs !== 'CLIENT_EXECUTION') return 'not of a client'
  const current = currentClaim(call, draft.at)
  if (current && !(current.claimantId === claimantId && isSameActor(current.claimedBy, actor))) {
    return 'claimed by another'
  }
  const expiresAt = new Date(draft.at.getTime() + leaseMs).toISOString()
  draft.changeCall(call.id, { status: 'PENDING', claim: { claimantId, claimedBy: actor, expiresAt } })
  return 'claimed'
}
