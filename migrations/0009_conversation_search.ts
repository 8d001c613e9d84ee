import { sql, type Kysely } from 'kysely'

/**
 * The words of conversations. Only what people and models said is indexed, not tool calls and returns, which are most
 * of what is written: the index costs a turn about as much as its words are long. Words are not stemmed, because their
 * language is unknown. Only the part of a message that surely fits a tsvector is indexed, or a long message could not
 * be stored. Each message also has a word that names its conversation and that no text contains: a search looks at one
 * conversation, and words that are common in others cost it nothing. Files are found by their names, whole or by a
 * word.
 */
export async function up(db: Kysely<never>): Promise<void> {
  // The function bodies are bound when they are created, because an index is built and restored with an empty search
  // path.
  await sql`
    create function message_text(content jsonb) returns text language sql immutable parallel safe
    return coalesce(content ->> 'text', (
      select string_agg(
        coalesce(part ->> 'text', '[image "' || (part -> 'image' ->> 'name') || '"]',
          '[document "' || (part -> 'document' ->> 'name') || '"]'), E'\\n' order by ordinal)
      from jsonb_array_elements(content -> 'content') with ordinality as parts(part, ordinal)), '')`.execute(db)
  await sql`
    create function file_words(content jsonb) returns text language sql immutable parallel safe
    return coalesce((
      select string_agg(regexp_replace(coalesce(part -> 'image' ->> 'name', part -> 'document' ->> 'name'),
        '[^[:alnum:]]+', ' ', 'g'), ' ')
      from jsonb_array_elements(content -> 'content') as parts(part)), '')`.execute(db)
  await sql`
    create function conversation_word(conversation_id uuid) returns text language sql immutable parallel safe
    return '@' || right(conversation_id::text, 12)`.execute(db)
  await sql`
    create function message_words(conversation_id uuid, content jsonb) returns tsvector language sql immutable parallel safe
    return to_tsvector('pg_catalog.simple'::regconfig, left(file_words(content) || ' ' || message_text(content), 100000))
      || array_to_tsvector(array[conversation_word(conversation_id)])`.execute(db)
  await sql`
    create index messages_words on messages using gin (message_words(conversation_id, content))
    where type in ('USER', 'ASSISTANT', 'SYSTEM', 'SUMMARY')`.execute(db)
}
