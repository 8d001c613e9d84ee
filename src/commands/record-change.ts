import type { Kysely } from 'kysely'

import type { Actor } from '../domain/access/actor.ts'
import { decisionsMade, settingsChange, type AuditEntry, type SettingsChange } from '../domain/access/audit.ts'
import { encodeId, type UuidKind } from '../domain/ids.ts'
import type { RunState } from '../domain/runs/run-state.ts'
import type { AgentTool } from '../domain/tools/tool.ts'
import { insertAuditEntries } from '../store/audit-entries.ts'
import type { Database } from '../store/database/schema.ts'
import type { CommandContext } from './command-context.ts'

type RecordContext = Pick<CommandContext, 'clock' | 'ids'>

/** Who made the change. The actor is null on the command line. */
export interface ChangedBy {
  readonly tenantId: string
  readonly actor: Actor | null
}

export interface Change {
  /** Name of the mutation. */
  readonly action: string
  readonly subject: readonly [kind: UuidKind, id: string]
  /**
   * The whole object, or the settings that may have changed. Null if it does not exist. Only the differences are
   * stored.
   */
  readonly before: object | null
  readonly after: object | null
}

/** Adds an entry to the audit log in the transaction of the change. Adds none if nothing changed. */
export async function recordChange(
  context: RecordContext,
  trx: Kysely<Database>,
  by: ChangedBy,
  { action, subject: [kind, id], before, after }: Change,
): Promise<void> {
  const change = settingsChange(before, after)
  if (!change) return
  await insertAuditEntries(trx, [entryOf(context, by, { action, subjectId: encodeId(kind, id), ...change })])
}

/** Attached tools as an audit entry shows them. */
export function shownTools(tools: readonly { readonly toolId: string; readonly approvalOverride: boolean | null }[]) {
  return tools.map(({ toolId, approvalOverride }) => ({ toolId: encodeId('Tool', toolId), approvalOverride }))
}

export function shownAgentTools(tools: readonly AgentTool[]) {
  return shownTools(tools.map(({ tool, approvalOverride }) => ({ toolId: tool.id, approvalOverride })))
}

export function shownBlockIds(blocks: readonly { readonly id: string }[]): string[] {
  return blocks.map(({ id }) => encodeId('Block', id))
}

/** Records an action that changes no settings, such as retrying a run. */
export async function recordAct(
  context: RecordContext,
  trx: Kysely<Database>,
  by: ChangedBy,
  { action, subject: [kind, id] }: Pick<Change, 'action' | 'subject'>,
): Promise<void> {
  const entry = { action, subjectId: encodeId(kind, id), before: null, after: null }
  await insertAuditEntries(trx, [entryOf(context, by, entry)])
}

/** Records the decisions that are new in a run's state, with one entry per actor. */
export async function recordDecisions(
  context: RecordContext,
  trx: Kysely<Database>,
  before: RunState,
  { run, calls }: RunState,
): Promise<void> {
  const byActor = Map.groupBy(decisionsMade(before.calls, calls), ({ actor }) => actor)
  const entries = [...byActor].map(([actor, made]) =>
    entryOf(
      context,
      { tenantId: run.tenantId, actor },
      {
        action: 'submitApprovals',
        subjectId: encodeId('Run', run.id),
        before: null,
        after: { decisions: made.map(({ shown }) => shown) },
      },
    ),
  )
  await insertAuditEntries(trx, entries)
}

function entryOf(
  { clock, ids }: RecordContext,
  { tenantId, actor }: ChangedBy,
  what: SettingsChange & Pick<AuditEntry, 'action' | 'subjectId'>,
): AuditEntry {
  return { id: ids.next(), tenantId, at: clock.now(), actor, ...what }
}
