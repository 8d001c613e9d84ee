import { sql, type Kysely } from 'kysely'

/**
 * Memory blocks. A conversation may have isolated copies in place of its agent's blocks, found by their label. For each
 * such conversation a sleeptime agent works in a separate one (`for_conversation`), so that it never mixes the copies
 * of two conversations.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table blocks (
      id uuid primary key,
      tenant_id uuid not null references tenants on delete cascade,
      -- The conversation that this isolated copy belongs to. Null for a block that agents have.
      conversation_id uuid references conversations on delete cascade,
      label text not null,
      value text not null check (char_length(value) <= char_limit),
      description text,
      char_limit integer not null check (char_limit > 0),
      version integer not null default 1,
      read_only boolean not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    )`.execute(db)
  await sql`create index blocks_tenant on blocks (tenant_id, id)`.execute(db)
  await sql`create index blocks_label on blocks (tenant_id, label, id)`.execute(db)
  await sql`create unique index blocks_conversation on blocks (conversation_id, label)
    where conversation_id is not null`.execute(db)

  await sql`
    create table agent_blocks (
      agent_id uuid not null references agents on delete cascade,
      block_id uuid not null references blocks on delete cascade,
      ordinal bigint generated always as identity,
      primary key (agent_id, block_id)
    )`.execute(db)
  await sql`create index agent_blocks_block on agent_blocks (block_id)`.execute(db)
}
