import { sql, type Kysely } from 'kysely'

/**
 * The last run on the current branch of a conversation, by its `hold`. It is what `next_hold` and `off_branch` say
 * together, so nothing is stored for it. 0 before the first run.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create function branch_tip(next_hold integer, off_branch int4multirange)
    returns integer language sql immutable parallel safe
    return coalesce(upper(int4multirange(int4range(1, next_hold)) - off_branch) - 1, 0)`.execute(db)
}
