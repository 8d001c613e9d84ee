import { sql } from 'kysely'

import type { Checkpoint } from '../../domain/runs/draft.ts'
import type { DrivenRun } from '../../domain/runs/run-state.ts'
import { traceOfRun } from '../../domain/runs/run-trace.ts'
import { runDefaults } from '../../domain/runs/run.ts'
import { withChildren } from '../../domain/memory/sleeptime.ts'
import type { IdSource } from '../../util/ids.ts'
import { formatTraceparent } from '../../util/trace-context.ts'
import { admitRun } from './admission.ts'
import { writeCheckpoint } from './checkpoint.ts'
import type { LockedRun } from './lock-run.ts'
import { tellsStatus } from './log-entries.ts'
import type { Trx } from '../database/schema.ts'
import { unfinishedRuns } from './runs.ts'
import { hasOwnBlocks } from '../memory/sleeptime-material.ts'

/** The run has changed since the checkpoint read it. The caller must roll back the transaction. */
export class CheckpointRefusedError extends Error {
  constructor(runId: string) {
    super(`The run ${runId} is no longer as its checkpoint found it.`)
    this.name = 'CheckpointRefusedError'
  }
}

/** A background run that was created. */
export interface StartedRun {
  readonly runId: string
  readonly conversationId: string
  readonly tenantId: string
}

export interface StoredEnd {
  /** The run after the checkpoint. */
  readonly checkpoint: Checkpoint
  readonly started: readonly StartedRun[]
  /** The run that holds the conversation now. Null if none was waiting. */
  readonly nextRunId: string | null
}

/**
 * Stores the checkpoint that ends a run, together with what follows from it. The end of a turn counts for the sleeptime
 * group, and every few turns each sleeptime agent gets a background run. When a background run completes, what it read
 * counts as read. The caller holds the run's locks (`lockRun`). The sleeptime agents' conversations are locked after
 * them.
 */
export async function storeEnd(
  trx: Trx,
  checkpoint: Checkpoint,
  { ids, locked }: { readonly ids: IdSource; readonly locked: LockedRun },
): Promise<StoredEnd> {
  const { after, at } = checkpoint
  const { named, started } = locked.hasSleeptime
    ? await startSleeptimeRuns(trx, after, { at, ids })
    : { named: [], started: [] }
  const whole = withChildren(checkpoint, named)
  const stored = await writeCheckpoint(trx, whole)
  if (!stored) throw new CheckpointRefusedError(after.id)
  if (after.kind === 'SLEEPTIME' && after.status === 'COMPLETED' && after.reading) await moveProgress(trx, after)
  return { checkpoint: whole, started, nextRunId: stored.nextRunId }
}

interface SleeptimeRuns {
  /** The background runs that will read this turn: new ones, or ones that are already waiting. */
  readonly named: readonly string[]
  readonly started: readonly StartedRun[]
}

async function startSleeptimeRuns(
  trx: Trx,
  run: DrivenRun,
  { at, ids }: { readonly at: Date; readonly ids: IdSource },
): Promise<SleeptimeRuns> {
  const named: string[] = []
  const started: StartedRun[] = []
  // A turn that added no messages leaves nothing to read.
  if (run.kind !== 'TURN' || run.firstPosition === null) return { named, started }
  const { due, agentIds } = await countTurn(trx, run)
  if (!due) return { named, started }
  for (const conversationId of await lockSleeptimeConversations(trx, run, {
    agentIds,
    turns: due.frequency,
    at,
    ids,
  })) {
    const waiting = await findWaitingRun(trx, { conversationId, foregroundAgentId: run.agentId })
    if (waiting) {
      named.push(waiting)
      continue
    }
    const child = {
      id: ids.next(),
      tenantId: run.tenantId,
      kind: 'SLEEPTIME',
      parentId: run.id,
      sentBy: null,
      urgent: false,
      maxSteps: runDefaults.maxSteps,
      maxTotalTokens: null,
      request: { messages: [], clientTools: [], foregroundAgentId: run.agentId },
      metadata: {},
      createdAt: at,
      traceparent: formatTraceparent(traceOfRun(run)),
    } as const
    await admitRun(trx, { conversationId }, child, { reach: child, mayWait: true, driver: null })
    named.push(child.id)
    started.push({ runId: child.id, conversationId, tenantId: run.tenantId })
  }
  return { named, started }
}

/** Counts the turn, and returns the sleeptime agents that are due now. A retried turn counts once. */
async function countTurn(
  trx: Trx,
  run: DrivenRun,
): Promise<{ readonly due: { readonly frequency: number } | undefined; readonly agentIds: readonly string[] }> {
  const { rows } = await sql<{ frequency: number; due: boolean; agent_ids: string[] }>`
    update sleeptime_groups set turns = turns + 1
    where agent_id = ${run.agentId} and not exists (
      select from run_log where run_id = ${run.id} and ${tellsStatus(sql`entries`, 'FAILED')})
    returning frequency, turns % frequency = 0 as due, array(
      select sleeptime_group_agents.agent_id from sleeptime_group_agents where group_id = sleeptime_groups.id
      order by ordinal) as agent_ids`.execute(trx)
  const group = rows[0]
  return { due: group?.due ? { frequency: group.frequency } : undefined, agentIds: group?.agent_ids ?? [] }
}

/**
 * How many of the last turns are searched for conversations to read. Conversations beyond that are read after their
 * next turn.
 */
const maxTurns = 1_000

/**
 * Finds and locks the conversations in which the sleeptime agents' runs start. An agent works in its main conversation.
 * For a conversation that has blocks of its own it works in a separate one, which is created when it is first needed.
 * The agents read all turns since their last run, so the last `turns` turns say which conversations to work for.
 */
async function lockSleeptimeConversations(
  trx: Trx,
  run: DrivenRun,
  {
    agentIds,
    turns,
    at,
    ids,
  }: { readonly agentIds: readonly string[]; readonly turns: number; readonly at: Date; readonly ids: IdSource },
): Promise<string[]> {
  const { rows: read } = await sql<{ of: string | null }>`
    select distinct case when ${hasOwnBlocks} then conversations.id end as of from conversations
    where conversations.deleted_at is null and (conversations.id = ${run.conversationId} or conversations.id in (
      select conversation_id from (
        select conversation_id, kind from runs where agent_id = ${run.agentId} and ended
        order by finished_at desc limit ${Math.min(turns, maxTurns)}) recent
      where kind = 'TURN'))`.execute(trx)
  for (const { of } of read) {
    if (of === null) continue
    for (const agentId of agentIds) {
      await sql`
        insert into conversations (id, tenant_id, agent_id, is_main, metadata, created_at, updated_at, for_conversation)
        values (${ids.next()}, ${run.tenantId}, ${agentId}, false, '{}', ${at}, ${at}, ${of})
        on conflict (for_conversation, agent_id) where for_conversation is not null do nothing`.execute(trx)
    }
  }
  const isolated = read.flatMap(({ of }) => (of === null ? [] : [of]))
  const { rows } = await sql<{ id: string; agent_id: string }>`
    select id, agent_id from conversations
    where agent_id = any(${agentIds}::uuid[]) and deleted_at is null
      and ((is_main and ${isolated.length < read.length}) or for_conversation = any(${isolated}::uuid[]))
    order by id for no key update`.execute(trx)
  return agentIds.flatMap((agentId) => rows.filter((row) => row.agent_id === agentId).map((row) => row.id))
}

/**
 * A waiting run that will read this turn anyway. It is locked: a worker that takes it up holds the same lock while it
 * reads, so either we see that the run has begun, or it reads what we store here.
 */
async function findWaitingRun(
  trx: Trx,
  where: { readonly conversationId: string; readonly foregroundAgentId: string },
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from runs
    where id in (${unfinishedRuns(sql`${where.conversationId}`)}) and kind = 'SLEEPTIME' and status = 'QUEUED'
      and first_position is null and request ->> 'foregroundAgentId' = ${where.foregroundAgentId}
    order by number limit 1 for no key update`.execute(trx)
  return rows[0]?.id
}

/** A conversation that was deleted in the meantime needs no progress. */
async function moveProgress(trx: Trx, { agentId, reading }: DrivenRun): Promise<void> {
  await sql`
    insert into sleeptime_progress (agent_id, conversation_id, read_to)
    select ${agentId}, conversations.id, read.position::integer
    from jsonb_each_text(${JSON.stringify(reading)}::jsonb) read(conversation_id, position)
      join conversations on conversations.id = read.conversation_id::uuid
    on conflict (agent_id, conversation_id)
      do update set read_to = greatest(sleeptime_progress.read_to, excluded.read_to)`.execute(trx)
}
