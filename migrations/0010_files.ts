import { sql, type Kysely } from 'kysely'

/**
 * Images and documents. A file belongs to a conversation and is found by its key, which is made from its content, name
 * and media type; so storing it twice changes nothing, and a copy of a conversation has the same keys. Equal content of
 * a tenant is stored once. It is deleted with the last file that has it: see `delete_unused_contents`.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table file_contents (
      tenant_id uuid not null references tenants on delete cascade,
      -- SHA-256 of the bytes.
      hash bytea not null,
      bytes bytea not null,
      primary key (tenant_id, hash)
    )`.execute(db)
  // Most files are compressed already.
  await sql`alter table file_contents alter column bytes set storage external`.execute(db)

  await sql`
    create table files (
      conversation_id uuid not null references conversations on delete cascade,
      key uuid not null,
      -- Copied from the conversation, which has the foreign key.
      tenant_id uuid not null,
      hash bytea not null,
      name text,
      media_type text not null,
      size_bytes integer not null,
      tokens integer not null,
      created_at timestamptz(3) not null,
      -- When the file is deleted. Null once a message or result refers to it: then it stays with its conversation.
      expires_at timestamptz(3),
      primary key (conversation_id, key),
      foreign key (tenant_id, hash) references file_contents
    )`.execute(db)
  await sql`create index files_content on files (tenant_id, hash)`.execute(db)
  await sql`create index files_expiry on files (expires_at) where expires_at is not null`.execute(db)

  // The lock comes first and the check for other files after it: each statement of a function sees what was committed
  // before it. So if two transactions delete the last two files of a content, the later one deletes the content, and a
  // transaction that adds a file at that moment waits here or is waited for.
  await sql`
    create function delete_unused_contents() returns trigger language plpgsql as $$
    begin
      perform from file_contents contents
        where (contents.tenant_id, contents.hash) in (select tenant_id, hash from deleted_files)
        order by contents.tenant_id, contents.hash for update;
      delete from file_contents contents
        where (contents.tenant_id, contents.hash) in (select tenant_id, hash from deleted_files)
          and not exists (select from files where files.tenant_id = contents.tenant_id and files.hash = contents.hash);
      return null;
    end $$`.execute(db)
  await sql`
    create trigger files_deleted after delete on files referencing old table as deleted_files
    for each statement execute function delete_unused_contents()`.execute(db)
}
