import { sql, type RawBuilder } from 'kysely'

import type { Checkpoint } from '../../domain/runs/draft.ts'
import { eventsOf } from '../../domain/webhooks/checkpoint-events.ts'
import type { EventPayload } from '../../domain/webhooks/webhook.ts'
import type { Trx } from '../database/schema.ts'
import { givenRows, recordColumns } from '../runs/record-rows.ts'

const eventColumns = recordColumns({ run_id: 'uuid', place: 'integer', event: 'text', head: 'text', tail: 'text' })

/** The events that webhooks get of these checkpoints, in order. */
export function eventRows(checkpoints: readonly Checkpoint[]): readonly object[] {
  return checkpoints.flatMap((checkpoint) =>
    eventsOf(checkpoint).map((event, place) => ({ run_id: checkpoint.before.id, place, ...event })),
  )
}

/**
 * The part of a checkpoint's statement that writes deliveries for webhooks. A tenant without a webhook for the event
 * pays only a look into an index. The answer is the last text that the run has said, in this
 * checkpoint (`added_messages`, if it adds messages) or before.
 */
export function tellWebhooks(
  rows: readonly object[],
  { addsMessages }: { readonly addsMessages: boolean },
): RawBuilder<unknown> {
  const added = sql`select content ->> 'text' from added_messages
    where added_messages.conversation_id = run.conversation_id and type = 'ASSISTANT' order by position desc limit 1`
  const stored = sql`select content ->> 'text' from messages
    where messages.conversation_id = run.conversation_id and run_hold = run.hold and type = 'ASSISTANT'
      and position >= earlier.first_position and position < earlier.next_position order by position desc limit 1`
  return sql`
    insert into webhook_deliveries (tenant_id, webhook_id, conversation_id, event, payload, created_at, next_attempt_at)
    select webhooks.tenant_id, webhooks.id, run.conversation_id, given.event,
      (given.head || coalesce(to_json(${addsMessages ? sql`coalesce((${added}), (${stored}))` : sql`(${stored})`})::text, 'null')
        || given.tail)::json, run.at, run.at
    from ${givenRows(eventColumns.definition, rows)}
      join run on run.id = given.run_id
      join runs earlier on earlier.id = run.id
      join webhooks on webhooks.tenant_id = earlier.tenant_id and ${isWanted(sql`given.event`, sql`run.agent_id`)}
    order by given.place`
}

/** Writes deliveries of an event that belongs to no checkpoint, in the transaction of the change that it reports. */
export async function tellEvent(
  trx: Trx,
  about: { readonly tenantId: string; readonly agentId: string; readonly conversationId: string | null },
  payload: EventPayload,
): Promise<void> {
  await sql`
    insert into webhook_deliveries (tenant_id, webhook_id, conversation_id, event, payload, created_at, next_attempt_at)
    select tenant_id, id, ${about.conversationId}::uuid, ${payload.type}, ${JSON.stringify(payload)}::json,
      ${payload.timestamp}::timestamptz, ${payload.timestamp}::timestamptz
    from webhooks where tenant_id = ${about.tenantId} and ${isWanted(sql`${payload.type}::text`, sql`${about.agentId}::uuid`)}`.execute(
    trx,
  )
}

function isWanted(event: RawBuilder<unknown>, agentId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`webhooks.enabled and ${event} = any(webhooks.events)
    and (webhooks.agent_ids is null or ${agentId} = any(webhooks.agent_ids))`
}
