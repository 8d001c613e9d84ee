import type { Transaction } from 'kysely'

import { requireBreadth } from '../auth/require-breadth.ts'
import { requireScope } from '../auth/require-scope.ts'
import { refusalOf, type DecisionRefusal } from '../domain/approvals/decision-refusal.ts'
import {
  applyDecisions,
  denyExpired,
  resumeIfDecided,
  toolsApprovedForAgent,
  withCalls,
  type DecisionInput,
  type GivenDecision,
} from '../domain/approvals/decisions.ts'
import { Draft } from '../domain/runs/draft.ts'
import { notFound } from '../domain/errors.ts'
import type { StoredFile } from '../domain/files/file.ts'
import { encodeId } from '../domain/ids.ts'
import {
  noFiles,
  settleMessages,
  settlePart,
  type OfferedFiles,
  type OfferedMessage,
  type OfferedPart,
} from '../domain/context/offered-content.ts'
import type { RunState } from '../domain/runs/run-state.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { announceCheckpoint } from '../live/announce.ts'
import { setApprovalOverride } from '../store/agents/agent-tools.ts'
import { writeCheckpoint } from '../store/checkpoint.ts'
import { loadRun } from '../store/runs/load-run.ts'
import { lockRun } from '../store/runs/lock-run.ts'
import { findRuns } from '../store/runs/runs.ts'
import type { Database } from '../store/database/schema.ts'
import { transact, type AfterCommit } from '../store/transact.ts'
import type { SchemaProblem } from '../util/json-schema.ts'
import type { CommandContext, RunContext } from './command-context.ts'
import { findEarlierRun, keyedInput, rememberRun } from './idempotency.ts'
import { recordDecisions } from './record-change.ts'
import { checkSizes, findNamedFiles, keepFiles } from './store-files.ts'

export type { SchemaProblem as ArgumentProblem }

export interface SubmitApprovalsInput {
  readonly runId: string
  readonly decisions: readonly OfferedDecision[]
  readonly followUp: readonly OfferedMessage[]
  /** Files of the results and of the follow-up messages. */
  readonly files?: OfferedFiles
  readonly idempotencyKey: string | null
}

export type SubmitApprovalsOutcome = { readonly outcome: 'accepted' } | DecisionRefusal

/** Stores decisions, all or none. The run continues with the last decision that it waits for. */
export async function submitApprovals(
  context: CommandContext,
  viewer: Viewer,
  input: SubmitApprovalsInput,
): Promise<SubmitApprovalsOutcome> {
  const { runId, idempotencyKey, files = noFiles, ...asked } = input
  checkSizes(context, files.brought)
  const [run] = await findRuns(context.db, viewer, [runId])
  if (!run) throw notFound('run', encodeId('Run', runId))
  const keyed =
    idempotencyKey === null
      ? undefined
      : keyedInput(
          { tenantId: viewer.tenantId, operation: 'SUBMIT_APPROVALS', key: idempotencyKey },
          { runId, ...asked },
        )

  return transact(context, async (trx, afterCommit): Promise<SubmitApprovalsOutcome> => {
    await lockRun(trx, runId)
    const loaded = await loadRun(trx, runId)
    if (!loaded) throw notFound('run', encodeId('Run', runId))
    requireScopes(viewer, loaded.state, input)
    if (keyed && (await findEarlierRun(trx, keyed, context.clock.now()))) return { outcome: 'accepted' }

    const { tenantId, conversationId } = loaded.state.run
    const found = await findNamedFiles(trx, viewer, conversationId, files)
    const given = settled(input, found)
    const draft = new Draft(loaded.state, context)
    // An expired call can no longer be approved, even if no sweep has denied it yet.
    const expired = denyExpired(draft)
    const refusal = refusalOf(draft.state, given, viewer.actor)
    if (refusal && !expired) return refusal
    if (!refusal) {
      applyDecisions(draft, given, viewer.actor)
      await keepFiles(trx, { tenantId, conversationId }, files, {
        now: draft.at,
        tenantStorageBytes: context.tenantStorageBytes,
      })
      const ofAgent = toolsApprovedForAgent(loaded.state, draft.state)
      for (const agentToolId of ofAgent) await setApprovalOverride(trx, agentToolId, false)
      if (keyed) await rememberRun(trx, keyed, { runId, now: draft.at })
    }
    await storeDecisions(context, { trx, afterCommit }, loaded.state, draft)
    return refusal ?? { outcome: 'accepted' }
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

/** Stores decisions in a transaction that holds the run's locks. `before` is the state that the draft began with. */
export async function storeDecisions(
  context: RunContext,
  { trx, afterCommit }: { readonly trx: Transaction<Database>; readonly afterCommit: AfterCommit },
  before: RunState,
  draft: Draft,
): Promise<void> {
  resumeIfDecided(draft)
  const checkpoint = draft.checkpoint()
  // Everything was decided before. A run that has continued or ended is left alone.
  if (checkpoint.entries.length === 0) return
  if (!(await writeCheckpoint(trx, checkpoint)))
    throw new Error(`The run ${draft.state.run.id} changed under its locks.`)
  await recordDecisions(context, trx, before, draft.state)
  afterCommit(() => announceCheckpoint(context, checkpoint))
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
      if (given.kind === 'APPROVED' && given.scope === 'AGENT') {
        requireScope(viewer, ['MANAGE'], 'Approving a tool for every run of the agent')
        requireBreadth(viewer, 'agent', 'Approving a tool for every run of the agent')
      }
    }
  }
  if (followUp.length > 0) requireScope(viewer, ['RUN'], 'Sending a follow-up')
}
