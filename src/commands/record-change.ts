import type { Actor } from '../domain/access/actor.ts'
import type { GivenTool } from '../domain/agents/agent-parts.ts'
import type { Agent } from '../domain/agents/agent.ts'
import { settingsChange, type AuditEntry, type SettingsChange } from '../domain/access/audit.ts'
import { decisionsMade } from '../domain/approvals/call-approvals.ts'
import { encodeId, type UuidKind } from '../domain/ids.ts'
import type { RunState } from '../domain/runs/run-state.ts'
import { setAgent } from '../store/agents/agents.ts'
import { insertAuditEntries } from '../store/access/audit-entries.ts'
import type { Db } from '../store/database/schema.ts'
import type { CommandContext } from './command-context.ts'

/** The hub tells the drivers of this process. The command line has none. */
type RecordContext = Pick<CommandContext, 'clock' | 'ids'> & Partial<Pick<CommandContext, 'hub'>>

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

/** A change of one object. `before` is null if it is new, `after` if it is gone. */
export function changeOf(action: string, kind: UuidKind, before: Identified | null, after: Identified | null): Change {
  const changed = before ?? after
  if (!changed) throw new Error(`${action} changes nothing.`)
  return { action, subject: [kind, changed.id], before, after }
}

interface Identified {
  readonly id: string
}

/** Adds an entry to the audit log in the transaction of the change. False, and no entry, if nothing changed. */
export async function recordChange(
  context: RecordContext,
  trx: Db,
  by: ChangedBy,
  { action, subject: [kind, id], before, after }: Change,
): Promise<boolean> {
  const change = settingsChange(before, after)
  if (!change) return false
  context.hub?.settingsChanged()
  await insertAuditEntries(trx, [entryOf(context, by, { action, subjectId: encodeId(kind, id), ...change })])
  return true
}

/**
 * Records a change of an agent, or of its tools and blocks, and stores the agent with the time. Does neither if nothing
 * changed. Returns the agent as it is then.
 */
export async function storeAgent(
  context: RecordContext,
  trx: Db,
  by: ChangedBy,
  agent: Agent,
  change: Omit<Change, 'subject'>,
): Promise<Agent> {
  if (!(await recordChange(context, trx, by, { ...change, subject: ['Agent', agent.id] }))) return agent
  const changed = { ...agent, updatedAt: context.clock.now() }
  await setAgent(trx, changed)
  return changed
}

/** Attached tools as an audit entry shows them. */
export function shownTools(tools: readonly GivenTool[]) {
  return tools.map(({ tool, approvalOverride }) => ({ toolId: encodeId('Tool', tool.id), approvalOverride }))
}

/** Of blocks and passages, an entry shows only the ids: their texts may be long. */
export function idsOf(objects: readonly { readonly id: string }[]): string[] {
  return objects.map(({ id }) => id)
}

/** Records an action that changes no settings, such as retrying a run. */
export async function recordAct(
  context: RecordContext,
  trx: Db,
  by: ChangedBy,
  { action, subject: [kind, id] }: Pick<Change, 'action' | 'subject'>,
): Promise<void> {
  const entry = { action, subjectId: encodeId(kind, id), before: null, after: null }
  await insertAuditEntries(trx, [entryOf(context, by, entry)])
}

/** Records the decisions that are new in a run's state, with one entry per actor. */
export async function recordDecisions(
  context: RecordContext,
  trx: Db,
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
