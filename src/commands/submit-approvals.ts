import { addDecisions, errorResult } from '../domain/advance.ts'
import { denialText, isSameDecision, type GivenDecision } from '../domain/decisions.ts'
import { Draft } from '../domain/draft.ts'
import { HoldpointError, notFound } from '../domain/errors.ts'
import { encodeId } from '../domain/ids.ts'
import type { GivenMessage } from '../domain/message.ts'
import { findTool, type RunState } from '../domain/run-state.ts'
import type { ToolCall } from '../domain/tool-call.ts'
import { toolDefaults } from '../domain/tool.ts'
import { truncateResult } from '../domain/tool-output.ts'
import type { Viewer } from '../domain/viewer.ts'
import { setApprovalOverride } from '../store/agent-tools.ts'
import { writeCheckpoint } from '../store/checkpoint.ts'
import { loadRun } from '../store/load-run.ts'
import { lockRun } from '../store/lock-run.ts'
import { findRuns } from '../store/runs.ts'
import { checkSchema, type SchemaProblem } from '../util/json-schema.ts'
import type { CommandContext } from './command-context.ts'
import { findEarlierRun, keyedInput, rememberRun } from './idempotency.ts'

export type { GivenDecision, SchemaProblem as ArgumentProblem }

export interface SubmitApprovalsInput {
  readonly runId: string
  readonly decisions: readonly GivenDecision[]
  readonly followUp: readonly GivenMessage[]
  readonly idempotencyKey: string | null
}

export type SubmitApprovalsOutcome =
  | { readonly outcome: 'accepted'; readonly runId: string }
  | { readonly outcome: 'nothing pending'; readonly runId: string }
  | {
      readonly outcome: 'invalid ids'
      readonly message: string
      readonly invalidIds: readonly string[]
      readonly expectedIds: readonly string[]
    }
  | { readonly outcome: 'already decided'; readonly toolCallIds: readonly string[] }
  | {
      readonly outcome: 'invalid arguments'
      readonly toolCallId: string
      readonly problems: readonly SchemaProblem[]
    }

/** Stores decisions, all of them or none. The last one that a run waits for continues it. */
export async function submitApprovals(
  context: CommandContext,
  viewer: Viewer,
  input: SubmitApprovalsInput,
): Promise<SubmitApprovalsOutcome> {
  const { runId, idempotencyKey, ...asked } = input
  const [run] = await findRuns(context.db, viewer.tenantId, [runId])
  if (!run) throw notFound('run', encodeId('Run', runId))
  const keyed =
    idempotencyKey === null
      ? undefined
      : keyedInput(
          { tenantId: viewer.tenantId, operation: 'SUBMIT_APPROVALS', key: idempotencyKey },
          { runId, ...asked },
        )

  const outcome = await context.db.transaction().execute(async (trx): Promise<SubmitApprovalsOutcome> => {
    await lockRun(trx, runId)
    const loaded = await loadRun(trx, runId)
    if (!loaded) throw notFound('run', encodeId('Run', runId))
    if (keyed && (await findEarlierRun(trx, keyed, context.clock.now()))) return { outcome: 'accepted', runId }

    const refusal = refusalOf(loaded.state, input)
    if (refusal) return refusal
    const draft = new Draft(loaded.state, context)
    applyDecisions(draft, viewer, input)
    for (const agentToolId of toolsApprovedForAgent(loaded.state, input)) {
      await setApprovalOverride(trx, agentToolId, false)
    }
    const resumed = resumeIfDecided(draft)
    await writeCheckpoint(trx, draft.checkpoint(), { wake: resumed })
    if (keyed) await rememberRun(trx, keyed, { runId, now: draft.at })
    return { outcome: 'accepted', runId }
  })
  if (outcome.outcome === 'accepted') context.hub.poke(runId, 'stored')
  return outcome
}

/** Decisions are compared with what is stored before the run's state is looked at. */
function refusalOf(state: RunState, { runId, decisions }: SubmitApprovalsInput): SubmitApprovalsOutcome | undefined {
  const byId = new Map(state.calls.map((call) => [call.id, call]))
  const open = decisions.filter((given) => {
    const call = byId.get(given.toolCallId)
    return !call || !isSameDecision(given, call)
  })
  const ids = decisions.map((given) => given.toolCallId)
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index)
  if (open.length === 0 && twice.length === 0) return undefined

  const pending = state.calls.filter((call) => call.status === 'PENDING')
  if (pending.length === 0) {
    const decided = open.filter((given) => byId.get(given.toolCallId)?.decision)
    return decided.length > 0 && decided.length === open.length
      ? { outcome: 'already decided', toolCallIds: decided.map((given) => given.toolCallId) }
      : { outcome: 'nothing pending', runId }
  }
  const unknown = open.filter(
    (given) => !byId.get(given.toolCallId)?.decision && !pending.some((call) => call.id === given.toolCallId),
  )
  if (unknown.length > 0 || twice.length > 0) {
    return invalidIds([...new Set([...unknown.map((given) => given.toolCallId), ...twice])], pending)
  }
  const decided = open.filter((given) => byId.get(given.toolCallId)!.decision)
  if (decided.length > 0) return { outcome: 'already decided', toolCallIds: decided.map((given) => given.toolCallId) }
  return refusalOfContent(state, open, byId)
}

function refusalOfContent(
  state: RunState,
  decisions: readonly GivenDecision[],
  byId: ReadonlyMap<string, ToolCall>,
): SubmitApprovalsOutcome | undefined {
  for (const given of decisions) {
    const call = byId.get(given.toolCallId)!
    if (given.kind !== 'APPROVED') continue
    if (call.needs === 'CLIENT_EXECUTION') {
      throw new HoldpointError(
        'BAD_USER_INPUT',
        `The call ${encodeId('ToolCall', call.id)} is of a client tool: the client runs ${call.name} and sends what came of it as \`toolReturn\`, or denies it.`,
        { field: 'input.decisions' },
      )
    }
    const parameters = findTool(state, call.name)?.tool.parameters
    if (given.arguments === undefined || !parameters) continue
    const problems = checkSchema(parameters, given.arguments)
    if (problems.length > 0) return { outcome: 'invalid arguments', toolCallId: call.id, problems }
  }
  return undefined
}

function invalidIds(ids: readonly string[], pending: readonly ToolCall[]): SubmitApprovalsOutcome {
  const show = (list: readonly string[]) => list.map((id) => encodeId('ToolCall', id)).join(', ')
  const expectedIds = pending.map((call) => call.id)
  return {
    outcome: 'invalid ids',
    message: `Invalid tool call IDs: ${show(ids)}. Expected each once, out of: ${show(expectedIds)}.`,
    invalidIds: ids,
    expectedIds,
  }
}

function applyDecisions(draft: Draft, viewer: Viewer, { decisions, followUp }: SubmitApprovalsInput): void {
  for (const given of decisions) {
    const call = draft.state.calls.find((candidate) => candidate.id === given.toolCallId)!
    if (call.status !== 'PENDING') continue
    applyDecision(draft, viewer, call, given)
  }
  if (followUp.length > 0) draft.changeRun({ followUps: [...draft.state.run.followUps, ...followUp] })
}

function applyDecision(draft: Draft, viewer: Viewer, call: ToolCall, given: GivenDecision): void {
  const decidedBy = viewer.keyName
  switch (given.kind) {
    case 'APPROVED':
      draft.decideCall(call.id, { kind: 'APPROVED', reason: null, scope: given.scope }, decidedBy, {
        status: 'READY',
        editedArguments: given.arguments ?? null,
      })
      if (given.scope !== 'ONCE') {
        const { approvedTools } = draft.state.run
        draft.changeRun({ approvedTools: [...new Set([...approvedTools, call.name])] })
      }
      return
    case 'DENIED':
      draft.decideCall(call.id, { kind: 'DENIED', reason: given.reason, scope: null }, decidedBy, {
        status: 'DENIED',
        result: errorResult(denialText(given.reason)),
        finishedAt: draft.at,
      })
      return
    case 'CLIENT_RETURN': {
      const limit = findTool(draft.state, call.name)?.tool.returnCharLimit ?? toolDefaults.returnCharLimit
      draft.decideCall(call.id, { kind: 'CLIENT_RETURN', reason: null, scope: null }, decidedBy, {
        status: given.status === 'SUCCESS' ? 'SUCCEEDED' : 'FAILED',
        result: { ...truncateResult(given, limit), durationMs: null },
        finishedAt: draft.at,
      })
      return
    }
    default:
      given satisfies never
  }
}

/** The agent's tools that are to need no approval from now on. */
function toolsApprovedForAgent(state: RunState, { decisions }: SubmitApprovalsInput): string[] {
  const calls = decisions.flatMap((given) =>
    given.kind === 'APPROVED' && given.scope === 'AGENT'
      ? state.calls.filter((call) => call.id === given.toolCallId && call.status === 'PENDING')
      : [],
  )
  return calls.flatMap((call) => findTool(state, call.name)?.id ?? [])
}

/** With the last decision the run goes on: from here it is a worker's again. */
function resumeIfDecided(draft: Draft): boolean {
  const { run, calls } = draft.state
  if (run.status !== 'AWAITING_APPROVAL' || calls.some((call) => call.status === 'PENDING')) return false
  addDecisions(draft)
  draft.changeStep({ status: 'RUNNING' })
  draft.setStatus('RUNNING')
  return true
}
