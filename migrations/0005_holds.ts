import { sql, type Kysely } from 'kysely'

/**
 * The order in which runs hold their conversation. It is not that of their numbers: an INTERRUPT goes before what
 * waits already, and a run that is cancelled while it waits never holds it. A run gets its place when it gets the
 * conversation, and keeps it when it is retried.
 *
 * And what ended when, for who asks what changed since: both columns change when the run ends, once.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table conversations add column next_hold integer not null default 1`.execute(db)
  await sql`alter table runs add column hold integer`.execute(db)
  await sql`
    update runs set hold = places.hold
    from (
      select runs.id, row_number() over (partition by conversation_id order by number) as hold
      from runs join conversations on conversations.id = runs.conversation_id
      where runs.first_position is not null or conversations.active_run_id = runs.id
    ) places
    where runs.id = places.id`.execute(db)
  await sql`
    update conversations set next_hold = 1 + held.count
    from (select conversation_id, count(hold)::integer as count from runs group by conversation_id) held
    where conversations.id = held.conversation_id`.execute(db)
  await sql`create unique index runs_hold on runs (conversation_id, hold) where hold is not null`.execute(db)
  await sql`create index runs_finished on runs (tenant_id, finished_at) where ended`.execute(db)
}
