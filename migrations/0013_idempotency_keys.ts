import { sql, type Kysely } from 'kysely'

/** Idempotency keys belong to an actor, serve every mutation, and outlive what was made with them. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table idempotency_keys
      drop constraint idempotency_keys_pkey,
      drop constraint idempotency_keys_operation_check,
      drop constraint idempotency_keys_run_id_fkey,
      -- Null for keys that are older than this migration, because their inputs were hashed differently. They match any input.
      alter column input_hash drop not null,
      alter column input_hash type text using null,
      add actor_kind text,
      add actor_id text`.execute(db)
  await sql`drop index idempotency_keys_run`.execute(db)
  await sql`alter table idempotency_keys rename operation to mutation`.execute(db)
  await sql`alter table idempotency_keys rename run_id to object_id`.execute(db)
  // Nobody knows who sent these keys. A decision that is sent again is recognised without one.
  await sql`delete from idempotency_keys where mutation = 'SUBMIT_APPROVALS'`.execute(db)
  await sql`
    update idempotency_keys set
      mutation = case mutation when 'SEND_MESSAGE' then 'sendMessage' when 'EDIT_MESSAGE' then 'editMessage' else 'regenerate' end,
      actor_kind = runs.sent_by ->> 'kind', actor_id = runs.sent_by ->> 'id'
    from runs where runs.id = object_id`.execute(db)
  await sql`alter table idempotency_keys add primary key (tenant_id, actor_kind, actor_id, mutation, key)`.execute(db)
}
