import type { Insertable, Kysely } from 'kysely'

import type { MessageContents, MessageType } from '../../src/domain/conversations/message.ts'
import { defaultCompaction } from '../../src/domain/agents/agent.ts'
import { defaultModelSettings } from '../../src/domain/models/model-settings.ts'
import type { LogEntry } from '../../src/domain/runs/run-event.ts'
import type { StopReason, StoredRunStatus } from '../../src/domain/runs/run.ts'
import { packEntries } from '../../src/store/runs/log-entries.ts'
import type { Database } from '../../src/store/database/schema.ts'
import { systemClock } from '../../src/util/clock.ts'
import { createIdSource } from '../../src/util/ids.ts'

type Row<Table extends keyof Database> = Insertable<Database[Table]>
type Given<Table extends keyof Database, Needed extends keyof Row<Table>> = Pick<Row<Table>, Needed> &
  Partial<Row<Table>>

/**
 * Rows as the commands and the engine would have left them, put there without either. Each returns what it inserted.
 */
export interface Fixtures {
  tenant(name: string): Promise<string>
  agent(given: Given<'agents', 'tenant_id'>): Promise<Row<'agents'>>
  tool(given: Given<'tools', 'tenant_id' | 'name'>): Promise<Row<'tools'>>
  conversation(given: Given<'conversations', 'tenant_id' | 'agent_id'>): Promise<Row<'conversations'>>
  /**
   * Its number, where none is given, is the next one of the conversation; it holds it next, unless it is queued or
   * `hold` is null.
   */
  run(conversation: Row<'conversations'>, given?: Partial<Row<'runs'>>): Promise<Row<'runs'>>
  step(run: Row<'runs'>, given: Given<'steps', 'index'>): Promise<Row<'steps'>>
  /** At the run's next position, which it moves. */
  message<Type extends MessageType>(
    run: Row<'runs'>,
    type: Type,
    content: MessageContents[Type],
    given?: Partial<Row<'messages'>>,
  ): Promise<Row<'messages'>>
  call(run: Row<'runs'>, given: Given<'tool_calls', 'step_index' | 'ordinal'>): Promise<Row<'tool_calls'>>
  /** One checkpoint. The run's `next_seq` becomes what follows it. */
  log(run: Row<'runs'>, firstSeq: number, entries: readonly LogEntry[]): Promise<void>
}

const usualStopReasons: Partial<Record<StoredRunStatus, StopReason>> = {
  AWAITING_APPROVAL: 'REQUIRES_APPROVAL',
  COMPLETED: 'END_TURN',
  FAILED: 'ERROR',
  CANCELLED: 'CANCELLED',
}

/** Ids hold the time at which their row is made. */
function idAt(time: Date): string {
  return createIdSource({ ...systemClock, now: () => time }).next()
}

export function createFixtures(db: Kysely<Database>): Fixtures {
  const ids = createIdSource(systemClock)
  const now = () => systemClock.now()

  return {
    async tenant(name) {
      const id = ids.next()
      await db.insertInto('tenants').values({ id, name, created_at: now() }).execute()
      return id
    },

    async agent(given) {
      const row = {
        id: ids.next(),
        name: 'Ada',
        instructions: '',
        model: 'demo/scripted',
        model_settings: JSON.stringify(defaultModelSettings),
        tool_rules: '[]',
        compaction: JSON.stringify(defaultCompaction),
        tags: [],
        metadata: '{}',
        timezone: 'UTC',
        keep_requests: false,
        tell_times: false,
        created_at: now(),
        updated_at: now(),
        ...given,
      }
      await db.insertInto('agents').values(row).execute()
      return row
    },

    async tool(given) {
      const row = {
        id: ids.next(),
        description: '',
        kind: 'CLIENT' as const,
        parameters: '{"type":"object"}',
        requires_approval: false,
        parallel: true,
        idempotent: true,
        return_char_limit: 1000,
        timeout_ms: 1000,
        tags: [],
        created_at: now(),
        updated_at: now(),
        ...given,
      }
      await db.insertInto('tools').values(row).execute()
      return row
    },

    async conversation(given) {
      const row = { id: ids.next(), is_main: false, metadata: '{}', created_at: now(), updated_at: now(), ...given }
      await db.insertInto('conversations').values(row).execute()
      return row
    },

    async run(conversation, given = {}) {
      const status = given.status ?? 'RUNNING'
      const holds = status === 'QUEUED' || given.hold === null ? 0 : 1
      const { number, hold } = await db
        .updateTable('conversations')
        .set((eb) => ({ next_run_number: eb('next_run_number', '+', 1), next_hold: eb('next_hold', '+', holds) }))
        .where('id', '=', conversation.id)
        .returning((eb) => [eb('next_run_number', '-', 1).as('number'), eb('next_hold', '-', 1).as('hold')])
        .executeTakeFirstOrThrow()
      const row = {
        id: given.created_at ? idAt(new Date(given.created_at)) : ids.next(),
        tenant_id: conversation.tenant_id,
        agent_id: conversation.agent_id,
        conversation_id: conversation.id,
        number,
        ...(holds && { hold, previous_hold: hold - 1 }),
        kind: 'TURN' as const,
        urgent: false,
        max_steps: 50,
        created_at: now(),
        request: JSON.stringify({ messages: [], clientTools: [] }),
        metadata: '{}',
        status,
        next_seq: 2,
        updated_at: now(),
        ...(['COMPLETED', 'FAILED', 'CANCELLED'].includes(status) && { finished_at: now() }),
        stop_reason: usualStopReasons[status] ?? null,
        ...given,
      }
      await db.insertInto('runs').values(row).execute()
      return row
    },

    async step(run, given) {
      const row = {
        run_id: run.id,
        attempt: 1,
        model: 'demo/scripted',
        created_at: now(),
        status: 'COMPLETED' as const,
        ...given,
      }
      await db.insertInto('steps').values(row).execute()
      return row
    },

    async message(run, type, content, given = {}) {
      const { position } = await db
        .updateTable('conversations')
        .set((eb) => ({ next_position: eb('next_position', '+', 1) }))
        .where('id', '=', run.conversation_id)
        .returning((eb) => eb('next_position', '-', 1).as('position'))
        .executeTakeFirstOrThrow()
      await db
        .updateTable('runs')
        .set((eb) => ({
          first_position: eb.fn.coalesce('first_position', eb.val(position)),
          next_position: position + 1,
        }))
        .where('id', '=', run.id)
        .execute()
      const row = {
        id: ids.next(),
        conversation_id: run.conversation_id,
        position,
        run_hold: run.hold!,
        type,
        content: JSON.stringify(content),
        created_at: now(),
        ...given,
      }
      await db.insertInto('messages').values(row).execute()
      return row
    },

    async call(run, given) {
      const row = {
        id: given.created_at ? idAt(new Date(given.created_at)) : ids.next(),
        tenant_id: run.tenant_id,
        run_id: run.id,
        provider_call_id: `call-${given.ordinal}`,
        name: 'look_up',
        arguments_text: '{}',
        arguments: '{}',
        needs: 'NOTHING' as const,
        created_at: now(),
        status: 'READY' as const,
        ...given,
      }
      await db.insertInto('tool_calls').values(row).execute()
      return row
    },

    async log(run, firstSeq, entries) {
      await db
        .insertInto('run_log')
        .values({ run_id: run.id, first_seq: firstSeq, at: now(), entries: packEntries(entries) })
        .execute()
      await db
        .updateTable('runs')
        .set({ next_seq: firstSeq + entries.length })
        .where('id', '=', run.id)
        .execute()
    },
  }
}
