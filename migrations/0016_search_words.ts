import { sql, type Kysely } from 'kysely'

/**
 * The words of a message are found by a PL/pgSQL function. Postgres plans an SQL function of an index anew in every
 * statement that adds a row, which took longer than everything else that adds a message. Almost every message is one
 * text; the others take the way of before. Both find the same words, so the index stays as it is.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create function words_of_parts(conversation_id uuid, content jsonb) returns tsvector language sql immutable parallel safe
    return to_tsvector('pg_catalog.simple'::regconfig, left(file_words(content) || ' ' || message_text(content), 100000))
      || array_to_tsvector(array[conversation_word(conversation_id)])`.execute(db)
  // An index is restored with an empty search path, and this body is not bound when it is created.
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db)
  const ofParts = sql.ref(`${rows[0]!.schema}.words_of_parts`)
  await sql`
    create or replace function message_words(conversation_id uuid, content jsonb) returns tsvector
    language plpgsql immutable parallel safe as $$
    declare
      text text := case
        when content ? 'text' then content ->> 'text'
        when jsonb_array_length(content -> 'content') = 1 then content #>> '{content,0,text}' end;
    begin
      if text is null then return ${ofParts}(conversation_id, content); end if;
      return to_tsvector('pg_catalog.simple'::regconfig, left(' ' || text, 100000))
        || array_to_tsvector(array['@' || right(conversation_id::text, 12)]);
    end $$`.execute(db)
}
