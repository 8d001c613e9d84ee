import { sql, type Kysely } from 'kysely'

import { silenceMs } from '../domain/worker.ts'
import type { Workload } from '../domain/workload.ts'
import type { Database } from './database/schema.ts'

/** Reads the rows of runs that have not ended, and no others. */
export async function readWorkload(db: Kysely<Database>): Promise<Workload> {
  const { rows } = await sql<Workload>`
    with unfinished as materialized (
      select id, created_at, status, hold, worker_id, claimable from runs where not ended
    ), waiting as materialized (
      select tool_calls.needs, tool_calls.created_at from unfinished
        join tool_calls on tool_calls.run_id = unfinished.id and tool_calls.exception = 'PENDING'
      where unfinished.status = 'AWAITING_APPROVAL'
    )
    select
      (select count(*) from unfinished where claimable) as "claimableRuns",
      (select count(*) from unfinished where hold is null) as "runsBehind",
      (select count(*) from unfinished where worker_id is not null) as "drivenRuns",
      (select ${ageOf(sql`min(created_at)`)} from unfinished where claimable) as "oldestClaimableSeconds",
      (select count(*) from waiting where needs = 'APPROVAL') as "waitingApprovals",
      (select count(*) from waiting where needs = 'CLIENT_EXECUTION') as "waitingClientCalls",
      (select ${ageOf(sql`min(created_at)`)} from waiting where needs = 'APPROVAL') as "oldestApprovalSeconds",
      count(*) as workers, coalesce(sum(capacity), 0) as capacity
    from workers where heartbeat_at > clock_timestamp() - make_interval(secs => ${silenceMs / 1000})`.execute(db)
  return rows[0]!
}

function ageOf(time: ReturnType<typeof sql>) {
  return sql`coalesce(greatest(extract(epoch from clock_timestamp() - ${time}), 0), 0)::double precision`
}
