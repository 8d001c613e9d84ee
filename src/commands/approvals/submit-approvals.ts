import { requireBreadth, requireScope } from '../../auth/require-scope.ts'
import type { Agent } from '../../domain/agents/agent.ts'
import { refusalOf, type DecisionRefusal } from '../../domain/approvals/decision-refusal.ts'
import {
  applyDecisions,
  denyExpired,
  resumeIfDecided,
  toolsApprovedForAgent,
  withCalls,
  type DecisionInput,
  type GivenDecision,
} from '../../domain/approvals/decisions.ts'
import type { Draft } from '../../domain/runs/draft.ts'
import type { StoredFile } from '../../domain/files/file.ts'
import {
  noFiles,
  settleMessages,
  settlePart,
  type OfferedFiles,
  type OfferedMessage,
  type OfferedPart,
} from '../../domain/context/offered-content.ts'
import type { RunState } from '../../domain/runs/run-state.ts'
import type { AgentTool } from '../../domain/tools/tool.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { changeRun } from '../../live/change-run.ts'
import { setApprovalOverride } from '../../store/agents/agent-tools.ts'
import { lockAgent } from '../../store/agents/agents.ts'
import { findRuns } from '../../store/runs/runs.ts'
import type { Trx } from '../../store/database/schema.ts'
import { transact } from '../../store/database/transact.ts'
import type { SchemaProblem } from '../../util/json-schema.ts'
import type { CommandContext, RunContext } from '../command-context.ts'
import { found, foundOne } from '../found.ts'
import { findEarlier, remember, type KeyedInput } from '../idempotency.ts'
import { recordDecisions, shownTools, storeAgent } from '../record-change.ts'
import { checkSizes, findNamedFiles, keepFiles } from '../files/store-files.ts'
import type { LoadedRun } from '../../store/runs/load-run.ts'
import { listRunsWithExpiredCalls } from '../../store/tools/tool-calls.ts'

export type { SchemaProblem as ArgumentProblem }

export interface SubmitApprovalsInput {
  readonly runId: string
  readonly decisions: readonly OfferedDecision[]
  readonly followUp: readonly OfferedMessage[]
  /** Files of the results and of the follow-up messages. */
  readonly files?: OfferedFiles
  readonly keyed?: KeyedInput | undefined
}

export type SubmitApprovalsOutcome = { readonly outcome: 'accepted' } | DecisionRefusal

/** Stores decisions, all or none. The run continues with the last decision that it waits for. */
export async function submitApprovals(
  context: CommandContext,
  viewer: Viewer,
  input: SubmitApprovalsInput,
): Promise<SubmitApprovalsOutcome> {
  const { runId, keyed, files = noFiles } = input
  checkSizes(context, files.brought)
  const run = await foundOne('Run', runId, findRuns(context.db, viewer, [runId]))

  const outcome = await transact(context, async (trx, afterCommit) => {
    // Before the conversation and the run, the order in which an agent is deleted.
    const agent = input.decisions.some(isForAgent) ? await lockAgent(trx, viewer, run.agentId) : undefined
    return changeRun(
      context,
      { trx, afterCommit },
      runId,
      async (draft, { state }): Promise<SubmitApprovalsOutcome> => {
        requireScopes(viewer, state, input)
        if (await findEarlier(trx, keyed, context.clock.now())) return { outcome: 'accepted' }

        const { tenantId, conversationId } = state.run
        const named = await findNamedFiles(trx, viewer, conversationId, files)
        const given = settled(input, named)
        // An expired call can no longer be approved, even if no sweep has denied it yet.
        const expired = denyExpired(draft)
        const refusal = refusalOf(draft.state, given, viewer.actor)
        if (refusal && !expired) return refusal
        if (!refusal) {
          applyDecisions(draft, given, viewer.actor)
          await keepFiles(context, trx, { tenantId, conversationId }, files, draft.at)
          if (agent) await approveForAgent(context, trx, viewer, agent, toolsApprovedForAgent(state, draft.state))
          await remember(trx, keyed, { objectIds: [runId], now: draft.at })
        }
        await settleDecisions(context, trx, state, draft)
        return refusal ?? { outcome: 'accepted' }
      },
    )
  })
  return found('Run', runId, outcome)
}

function isForAgent(given: OfferedDecision): boolean {
  return given.kind === 'APPROVED' && given.scope === 'AGENT'
}

async function approveForAgent(
  context: CommandContext,
  trx: Trx,
  viewer: Viewer,
  agent: Agent,
  tools: readonly AgentTool[],
): Promise<void> {
  for (const { id } of tools) await setApprovalOverride(trx, id, false)
  await storeAgent(context, trx, viewer, agent, {
    action: 'submitApprovals',
    before: { tools: shownTools(tools) },
    after: { tools: shownTools(tools.map((tool) => ({ ...tool, approvalOverride: false }))) },
  })
}

/** A decision from a client, before the files that it names are looked up. */
export type OfferedDecision =
  | Exclude<GivenDecision, { readonly kind: 'CLIENT_RETURN' }>
  | (Omit<Extract<GivenDecision, { readonly kind: 'CLIENT_RETURN' }>, 'content'> & {
      readonly content?: readonly OfferedPart[]
    })

function settled({ decisions, followUp }: SubmitApprovalsInput, found: ReadonlyMap<string, StoredFile>): DecisionInput {
  return {
    followUp: settleMessages(followUp, found),
    decisions: decisions.map((decision): GivenDecision => {
      if (decision.kind !== 'CLIENT_RETURN') return decision
      const { content, ...rest } = decision
      return content ? { ...rest, content: content.map((part) => settlePart(part, found)) } : rest
    }),
  }
}

/** Lets the run continue if nothing waits any more, and records who decided what. The draft began with `before`. */
export async function settleDecisions(context: RunContext, trx: Trx, before: RunState, draft: Draft): Promise<void> {
  resumeIfDecided(draft)
  await recordDecisions(context, trx, before, draft.state)
}

/**
 * Deciding about a call that waits for approval requires APPROVE. A client tool waits for the client that runs it, so
 * its result requires RUN, and either scope may deny it. A follow-up is a message, and an approval for the agent
 * changes the agent.
 */
function requireScopes(viewer: Viewer, state: RunState, { decisions, followUp }: SubmitApprovalsInput): void {
  for (const { given, call } of withCalls(state, decisions)) {
    if (given.kind !== 'APPROVED' && call?.needs === 'CLIENT_EXECUTION') {
      if (given.kind === 'CLIENT_RETURN') requireScope(viewer, ['RUN'], 'Giving the result of a client tool')
      else requireScope(viewer, ['RUN', 'APPROVE'], 'Denying a call of a client tool')
    } else {
      requireScope(viewer, ['APPROVE'], 'Deciding what waits for approval')
      if (isForAgent(given)) {
        requireScope(viewer, ['MANAGE'], 'Approving a tool for every run of the agent')
        requireBreadth(viewer, 'agent', 'Approving a tool for every run of the agent')
      }
    }
  }
  if (followUp.length > 0) requireScope(viewer, ['RUN'], 'Sending a follow-up')
}

/**
 * Denies calls that nobody decided in time, with the same locks and functions as a person's decision. Any process may
 * do it at any later time; if someone decides at the same moment, one comes first and the other finds the call decided.
 * Runs that are locked are left to the next sweep, so that they don't delay the others.
 */
export async function expireApprovals(context: RunContext): Promise<void> {
  for (const runId of await listRunsWithExpiredCalls(context.db, context.clock.now())) {
    await transact(context, (trx, afterCommit) => {
      const deny = async (draft: Draft, { state }: LoadedRun) => {
        if (denyExpired(draft)) await settleDecisions(context, trx, state, draft)
      }
      return changeRun(context, { trx, afterCommit }, runId, deny, { skipLocked: true })
    })
  }
}
