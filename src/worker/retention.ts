import {
  retainedKinds,
  retentionScopes,
  type DeletedKind,
  type RetainedKind,
  type RetentionRules,
  type RetentionScope,
} from '../domain/retention.ts'
import { deleteMarked } from '../store/deletions.ts'
import {
  deleteAuditEntries,
  deleteBatch,
  deleteFromArchive,
  deleteOldRuns,
  deleteRunLogs,
  listOldRuns,
  type RetentionCursor,
} from '../store/retention.ts'
import type { Db } from '../store/database/schema.ts'
import { listTenants } from '../store/access/tenants.ts'
import type { Clock } from '../util/clock.ts'

export interface RetentionOptions {
  readonly db: Db
  readonly clock: Clock
  readonly rules: RetentionRules
  /** Called with the number of deleted rows. */
  readonly onDeleted: (rows: number, kind: DeletedKind) => void
}

const runsAtOnce = 200
const entriesAtOnce = 1_000
/** How many batches one scope gets before the others have their turn. */
const batchesInTurn = 20
/** Batches of what clients deleted. */
const markedBatchesInTurn = 100
/**
 * A run whose messages are still in the context is checked again after this time, or after a tenth of the time that
 * runs are kept, whichever is shorter.
 */
const passEveryMs = 3_600_000

/** A pass over the old runs of one scope. */
interface Pass {
  after: RetentionCursor | undefined
  /** When the next pass begins. */
  dueAt: number
}

/**
 * Deletes the rows of what clients deleted, and what is older than the rules say, a little at a time. Processes take
 * turns: each batch is done by one.
 */
export class Retention {
  readonly #options: RetentionOptions
  readonly #passes = new Map<string, Pass>()

  constructor(options: RetentionOptions) {
    this.#options = options
  }

  async tidy(signal?: AbortSignal): Promise<void> {
    const { db, clock, rules } = this.#options
    for (let batch = 0; batch < markedBatchesInTurn && !signal?.aborted; batch += 1) {
      if (!(await this.#deletes('deleted', (trx) => deleteMarked(trx, { limit: runsAtOnce, now: clock.now() })))) break
    }
    const tenants = await listTenants(db)
    for (const kind of retainedKinds) {
      for (const scope of retentionScopes(rules, kind, tenants, clock.now())) {
        for (let batch = 0; batch < batchesInTurn && !signal?.aborted; batch += 1) {
          if (!(await this.#delete(kind, scope))) break
        }
      }
    }
  }

  /** One batch. Returns false if there is nothing more to do now. */
  async #delete(kind: RetainedKind, scope: RetentionScope): Promise<boolean> {
    switch (kind) {
      case 'logs':
      case 'runs':
        return this.#deleteOfRuns(kind, scope)
      case 'archived':
        return this.#deletes(kind, (trx) => deleteFromArchive(trx, scope, runsAtOnce))
      case 'audit':
        return this.#deletes(kind, (trx) => deleteAuditEntries(trx, scope, entriesAtOnce))
      default:
        return kind satisfies never
    }
  }

  async #deleteOfRuns(kind: 'logs' | 'runs', scope: RetentionScope): Promise<boolean> {
    const key = `${kind} ${'agentId' in scope.of ? scope.of.agentId : scope.of.tenantId}`
    const pass = this.#passes.get(key) ?? { after: undefined, dueAt: 0 }
    this.#passes.set(key, pass)
    const now = performance.now()
    if (pass.dueAt > now) return false
    const { ids, next } = await listOldRuns(this.#options.db, scope, { after: pass.after, limit: runsAtOnce })
    const erase = kind === 'logs' ? deleteRunLogs : deleteOldRuns
    // If another process has its turn, the same runs come next time: it may be deleting others.
    if (ids.length > 0 && (await this.#batch(kind, (trx) => erase(trx, ids))) === undefined) return false
    // The logs before the cursor are gone for good, but some runs before it may leave their context later.
    if (next) pass.after = next
    else if (kind === 'runs') {
      const keptMs = this.#options.clock.now().getTime() - scope.before.getTime()
      Object.assign(pass, { after: undefined, dueAt: now + Math.min(passEveryMs, keptMs / 10) })
    }
    return next !== undefined
  }

  /** Whether rows were deleted: then there may be more. */
  async #deletes(kind: DeletedKind, batch: Parameters<typeof deleteBatch>[1]): Promise<boolean> {
    return ((await this.#batch(kind, batch)) ?? 0) > 0
  }

  /** Returns the number of deleted rows, undefined if another process has its turn. */
  async #batch(kind: DeletedKind, batch: Parameters<typeof deleteBatch>[1]): Promise<number | undefined> {
    const rows = await deleteBatch(this.#options.db, batch)
    if (rows) this.#options.onDeleted(rows, kind)
    return rows
  }
}
