import { sql, type RawBuilder } from 'kysely'

import { poisonAfter, suspectAfter } from '../../domain/runs/take-up.ts'
import { loadedRunColumns, toLoadedRun, type LoadedRun, type LoadedRunRow } from '../runs/load-run.ts'
import { executePrepared } from '../database/prepared.ts'
import type { Db } from '../database/schema.ts'

/**
 * The runs table is the queue. A run can be claimed if it holds its conversation, nobody drives it and it waits for
 * nobody (`runs.claimable`). A claim writes the worker's lease and returns everything that driving the run needs, in
 * one statement.
 */
export interface Claim {
  readonly workerId: string
  /** The largest number of runs to claim. */
  readonly places: number
  /** The tenant whose run this worker claimed last. It comes after all others. */
  readonly lastTenantId: string
  /** Agents whose runs this worker leaves to others. Defaults to none. */
  readonly leftAgentIds?: readonly string[]
}

/** How many runs of one tenant, agent or sender all workers together may drive at a time. Null means no limit. */
export interface ClaimLimits {
  readonly perTenant: number | null
  readonly perAgent: number | null
  /** Of one key or person. Background runs have no sender and are not counted. */
  readonly perKey: number | null
}

export interface ClaimedRun {
  readonly loaded: LoadedRun
  /**
   * The run changed between the start of the statement and its lock. Its row is current, but what was read with it may
   * not be, so it has to be loaded again.
   */
  readonly stale: boolean
  /** Set if the run began in the statement that stored it: the ids of its messages. */
  readonly begunWith?: readonly string[] | undefined
}

/**
 * Claims waiting runs. Within a tenant, urgent runs go first, then the order of arrival counts. Among tenants, the one
 * with the fewest runs under way goes first, and tenants with equally many take turns.
 */
export async function claimRuns(db: Db, claim: Claim, limits: ClaimLimits): Promise<ClaimedRun[]> {
  const isLimited = Object.values(limits).some((limit) => limit !== null)
  if (!isLimited) return claimCandidates(db, claim, waitingRuns(claim))
  // Without this lock, two workers that count at the same moment would both find room for one more.
  return db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${limitsLock})`.execute(trx)
    return claimCandidates(trx, claim, waitingRuns(claim, limits))
  })
}

/** An arbitrary number that nothing else locks in this database. */
const limitsLock = 0x484f4c445155

/** How many tenants a claim looks at, before and after the one that was served last. */
const tenantsAtOnce = 100

/** The run's place among its agent's runs, counting those under way. */
const agentPlace = sql`row_number() over (partition by agent_id order by urgent desc, id)
  + (select count(*) from driven where driven.agent_id = runs.agent_id) as agent_place`

/** A key or person. The name is only for display. */
const sender = sql`runs.sent_by - 'name'`

/** The run's place among its sender's runs, counting those under way. Ids of people are unique within a tenant. */
const senderPlace = sql`${sender} as sender, row_number() over (partition by ${sender} order by urgent desc, id)
  + (select count(*) from driven where driven.tenant_id = runs.tenant_id and driven.sender = ${sender}) as sender_place`

const noLimits: ClaimLimits = { perTenant: null, perAgent: null, perKey: null }
const nothing = sql``

function waitingRuns(
  { places, lastTenantId, leftAgentIds = [] }: Claim,
  { perTenant, perAgent, perKey } = noLimits,
): RawBuilder<unknown> {
  const after = (tenantId: RawBuilder<unknown>) =>
    sql`select tenant_id from runs where claimable and tenant_id > ${tenantId} order by tenant_id limit 1`
  const last = sql`${lastTenantId}::uuid`
  return sql`
    -- One index lookup per tenant, however many of its runs are waiting.
    tenants_after as (
      (${after(last)})
      union all
      select next.tenant_id from tenants_after cross join lateral (${after(sql`tenants_after.tenant_id`)}) next
    ),
    tenants_before as (
      (${after(sql`'00000000-0000-0000-0000-000000000000'::uuid`)})
      union all
      select next.tenant_id from tenants_before cross join lateral (${after(sql`tenants_before.tenant_id`)}) next
      where tenants_before.tenant_id < ${last}
    ),
    waiting_tenants as (
      (select tenant_id, 0 as round from tenants_after limit ${tenantsAtOnce})
      union all
      (select tenant_id, 1 from tenants_before where tenant_id <= ${last} limit ${tenantsAtOnce})
    ),
    driven as materialized (
      select tenant_id, agent_id ${perKey === null ? nothing : sql`, ${sender} as sender`}
      from runs where worker_id is not null
    ),
    candidates as materialized (
      select waiting.id, waiting.next_seq, waiting_tenants.round, waiting_tenants.tenant_id,
        row_number() over (partition by waiting_tenants.tenant_id order by waiting.urgent desc, waiting.id)
          + (select count(*) from driven where driven.tenant_id = waiting_tenants.tenant_id) as place
      from waiting_tenants cross join lateral (
        select id, next_seq, urgent ${perAgent === null ? nothing : sql`, ${agentPlace}`}
          ${perKey === null ? nothing : sql`, ${senderPlace}`}
        from runs where claimable and runs.tenant_id = waiting_tenants.tenant_id
          and agent_id <> all (${leftAgentIds}::uuid[])
        order by urgent desc, id ${perAgent === null && perKey === null ? sql`limit ${places * spare}` : nothing}
      ) waiting
      where true ${perAgent === null ? nothing : sql`and agent_place <= ${perAgent}`}
        ${perKey === null ? nothing : sql`and (sender is null or sender_place <= ${perKey})`}
    ),
    chosen as materialized (
      select runs.id, candidates.next_seq as seen_seq from candidates join runs on runs.id = candidates.id
      where runs.claimable and exists (select from living)
        ${perTenant === null ? nothing : sql`and place <= ${perTenant}`}
      order by place, round, candidates.tenant_id limit ${places} for no key update of runs skip locked
    )`
}

/** Times as many candidates as places, because other workers may be claiming the first ones at this moment. */
const spare = 4

/**
 * Claims one run that workers died of. A run that only has to be failed as poison may be claimed at any time, any other
 * only if `mayDrive` says that this worker may drive a suspect.
 */
export async function claimSuspect(
  db: Db,
  { workerId, mayDrive }: { readonly workerId: string; readonly mayDrive: boolean },
): Promise<ClaimedRun | undefined> {
  const [claimed] = await claimCandidates(
    db,
    { workerId },
    sql`
    candidates as materialized (
      select id, deaths, next_seq from runs
      where deaths >= ${mayDrive ? suspectAfter : poisonAfter} and ${isFreeSuspect}
      order by deaths desc, id limit ${spare}
    ),
    chosen as materialized (
      select runs.id, candidates.next_seq as seen_seq from candidates join runs on runs.id = candidates.id
      where ${isFree} and exists (select from living)
      order by candidates.deaths desc, runs.id limit 1 for no key update of runs skip locked
    )`,
  )
  return claimed
}

/** Like `runs.claimable`, but whatever the number of deaths. */
const isFree = sql`runs.lease is null and runs.hold is not null and runs.status in ('QUEUED', 'RUNNING')`

/** Workers died of it, and nobody drives it now. `suspectAfter` as a constant lets Postgres use the index. */
export const isFreeSuspect = sql<boolean>`runs.deaths >= 2 and ${isFree}`

/**
 * A worker that has been given up may not know it yet, and must claim nothing. If it is being given up right now, the
 * sweep finds what it claimed (`freeRunsOfTheDead`). So the row needs no lock, which all claims would share.
 */
export function livingWorker(workerId: string): RawBuilder<unknown> {
  return sql`select id from workers where id = ${workerId}`
}

async function claimCandidates(
  db: Db,
  { workerId }: Pick<Claim, 'workerId'>,
  chosen: RawBuilder<unknown>,
): Promise<ClaimedRun[]> {
  const { rows } = await executePrepared(
    db,
    sql<LoadedRunRow & { readonly seen_seq: number }>`
      with recursive living as materialized (${livingWorker(workerId)}),
      ${chosen},
      claimed as (
        -- Failing a poisonous run does not count as an attempt.
        update runs set lease = gen_random_uuid(), worker_id = ${workerId},
          attempts = attempts + (deaths < ${poisonAfter})::integer
        from chosen where runs.id = chosen.id
        returning runs.*, chosen.seen_seq
      )
      select runs.seen_seq, ${loadedRunColumns}
      from claimed runs join conversations on conversations.id = runs.conversation_id
      order by runs.urgent desc, runs.id`,
  )
  return rows.map((row) => ({ loaded: toLoadedRun(row), stale: row.seen_seq !== row.next_seq }))
}
