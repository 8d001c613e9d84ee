import { sql, type Kysely } from 'kysely'

/**
 * Blocks that belong to one conversation, in place of its agent's block of the same label. A sleeptime agent works for
 * each conversation that has some in a conversation of its own, so that it never mixes what belongs to two of them.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table blocks add column conversation_id uuid references conversations on delete cascade`.execute(db)
  await sql`create unique index blocks_conversation on blocks (conversation_id, label)
    where conversation_id is not null`.execute(db)
  await sql`alter table conversations add column for_conversation uuid references conversations on delete cascade`.execute(
    db,
  )
  await sql`create unique index conversations_background on conversations (for_conversation, agent_id)
    where for_conversation is not null`.execute(db)
}
