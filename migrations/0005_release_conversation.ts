import { sql, type Kysely } from 'kysely'

/**
 * A run lets go of its conversation, and the next in line gets it: INTERRUPTs first, then in order of arrival. Whoever
 * calls this holds the conversation's lock. It is a function so that it may be part of the statement that takes the
 * lock: what a function reads, it reads as of now, and not as of the statement's start, when someone else may have held
 * the lock and added to the waiting ones. Returns the run that holds the conversation now.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create function release_conversation(
      ending_run_id uuid, held_conversation_id uuid, position_after integer, new_context_from integer, new_summary integer,
      excludes_messages boolean
    ) returns uuid language plpgsql volatile as $$
    declare
      next_run_id uuid;
      next_place integer;
    begin
      select id into next_run_id from runs
        where conversation_id = held_conversation_id and not ended and id <> ending_run_id
        order by urgent desc, number limit 1;
      update conversations set
          next_position = coalesce(position_after, next_position),
          context_from = coalesce(new_context_from, context_from),
          summary_position = coalesce(new_summary, summary_position),
          context_version = context_version + excludes_messages::integer,
          next_hold = next_hold + (next_run_id is not null)::integer,
          active_run_id = next_run_id
        where id = held_conversation_id and active_run_id = ending_run_id
        returning next_hold - 1 into next_place;
      -- It did not hold it: it was cancelled while it waited.
      if not found then return null; end if;
      if next_run_id is not null then
        -- The run that lets go was the last one of the current branch.
        update runs set hold = next_place, previous_hold = (select hold from runs where id = ending_run_id)
          where id = next_run_id;
      end if;
      return next_run_id;
    end $$`.execute(db)
}
