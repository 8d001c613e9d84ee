import { sql, type Kysely } from 'kysely'

/**
 * The archives of agents. A passage is found by its words through one index, which also has a word for its agent and
 * one for each of its tags, as messages have one for their conversation: a search looks at one archive. A text has at
 * most 20,000 characters, which surely fit a tsvector.
 *
 * Vectors have a table of their own, because they come later and change with the agent's embedding model. A search
 * compares one bit per dimension, which lie together in the order of the index, and then reads the vectors of the few
 * that are nearest. `passage_embeddings` is the queue of texts to embed.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table agents add column embedding_model text`.execute(db)
  await sql`
    create table passages (
      id uuid primary key,
      -- Copied from the agent.
      tenant_id uuid not null,
      agent_id uuid not null references agents on delete cascade,
      text text not null,
      tags text[] not null,
      metadata jsonb not null,
      created_at timestamptz(3) not null
    )`.execute(db)
  await sql`create index passages_agent on passages (agent_id, id)`.execute(db)
  await sql`create index passages_tenant on passages (tenant_id)`.execute(db)

  await sql`
    create function passage_words(agent_id uuid, text text, tags text[]) returns tsvector language sql immutable parallel safe
    return to_tsvector('pg_catalog.simple'::regconfig, text)
      || array_to_tsvector(array['@' || right(agent_id::text, 12)] || array(select '#' || tag from unnest(tags) as given(tag)))`.execute(
    db,
  )
  await sql`create index passages_words on passages using gin (passage_words(agent_id, text, tags))`.execute(db)

  await sql`
    create table passage_vectors (
      passage_id uuid primary key references passages on delete cascade,
      agent_id uuid not null,
      model text not null,
      -- Whether each dimension is positive.
      bits bit varying not null,
      -- 16-bit numbers, little-endian: 32,767 times the parts of a vector of length 1.
      vector bytea not null,
      -- The same of a large archive, as an array that pgvector can index. A type that every Postgres has.
      numbers smallint[]
    )`.execute(db)
  await sql`alter table passage_vectors alter column vector set storage external, alter column numbers set storage external`.execute(
    db,
  )
  await sql`create index passage_vectors_bits on passage_vectors (agent_id, model) include (passage_id, bits)`.execute(
    db,
  )
  await sql`
    create table passage_embeddings (
      passage_id uuid primary key references passages on delete cascade,
      model text not null,
      -- When the text is embedded next. Whoever embeds it moves this on first, so that nobody else does meanwhile.
      due_at timestamptz(3) not null,
      attempts integer not null default 0
    )`.execute(db)
  await sql`create index passage_embeddings_due on passage_embeddings (due_at)`.execute(db)
}
