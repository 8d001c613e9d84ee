import { sql, type Kysely } from 'kysely'

/**
 * The words of conversations. Only what people and models said is indexed, not calls and returns, which are most of
 * what is written: the index costs a turn about as much as its words are long. Without stemming, since nobody knows
 * which language they are in; and only so much of a message as a tsvector surely holds, or it could not be stored.
 */
export async function up(db: Kysely<never>): Promise<void> {
  // With bodies that are bound now: an index is made and restored with no search path.
  await sql`
    create function message_text(content jsonb) returns text language sql immutable parallel safe
    return coalesce(content ->> 'text', (
      select string_agg(part ->> 'text', E'\\n' order by ordinal)
      from jsonb_array_elements(content -> 'content') with ordinality as parts(part, ordinal)), '')`.execute(db)
  await sql`
    create function message_words(content jsonb) returns tsvector language sql immutable parallel safe
    return to_tsvector('pg_catalog.simple'::regconfig, left(message_text(content), 100000))`.execute(db)
  await sql`
    create index messages_words on messages using gin (message_words(content))
    where type in ('USER', 'ASSISTANT', 'SYSTEM', 'SUMMARY')`.execute(db)
}
