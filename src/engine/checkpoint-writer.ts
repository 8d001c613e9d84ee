import type { CheckpointWrite } from '../store/runs/checkpoint-rows.ts'
import { writeCheckpoints, type StoredCheckpoint } from '../store/runs/checkpoint.ts'
import type { Db } from '../store/database/schema.ts'
import { isTransientFailure } from '../store/database/transient-failure.ts'

interface Waiting {
  readonly write: CheckpointWrite
  readonly resolve: (stored: StoredCheckpoint | undefined) => void
  readonly reject: (error: unknown) => void
}

/** Larger batches save nothing more. */
const mostAtOnce = 50

/**
 * Stores the checkpoints of a process's runs. Those that come in while a statement is under way are stored together by
 * the next one: one round trip, one plan and one flush for all. A run that is alone never waits for company, and a run
 * that cannot be stored, or waits for a lock, delays no other.
 */
export class CheckpointWriter {
  readonly #db: Db
  readonly #patienceMs: number
  readonly #waiting: Waiting[] = []
  #isWriting = false

  /** After `patienceMs`, the next statement begins although the one before is still under way: it may wait for a lock. */
  constructor(db: Db, { patienceMs = 20 } = {}) {
    this.#db = db
    this.#patienceMs = patienceMs
  }

  /**
   * Undefined if the checkpoint was refused: see `writeCheckpoint`. A checkpoint that may be the reason why a statement
   * failed must be written alone.
   */
  write(write: CheckpointWrite, { alone = false } = {}): Promise<StoredCheckpoint | undefined> {
    return new Promise((resolve, reject) => {
      const waiting = { write, resolve, reject }
      // It locks blocks, which other runs may have locked.
      if (alone || write.checkpoint.blocks.length > 0) return void this.#writeAlone(waiting)
      this.#waiting.push(waiting)
      if (!this.#isWriting) void this.#writeWaiting()
    })
  }

  /** Takes one connection for as long as there is work: what it has planned once, it does not plan again. */
  async #writeWaiting(): Promise<void> {
    this.#isWriting = true
    try {
      await this.#db.connection().execute(async (own) => {
        while (this.#waiting.length > 0) {
          const batch = this.#takeBatch()
          const written = batch.length === 1 ? this.#writeAlone(batch[0]!, own) : this.#writeTogether(batch, own)
          if (await isStored(written, this.#patienceMs)) continue
          if (this.#waiting.length > 0) void this.#writeWaiting()
          else this.#isWriting = false
          await written
          return
        }
        this.#isWriting = false
      })
    } catch (error) {
      // There was no connection.
      this.#isWriting = false
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    }
  }

  /**
   * At most one checkpoint of each run: the statement tells them apart by their run. A run has two drivers here for a
   * moment if this process's worker was given up, and started again before its old driver found out.
   */
  #takeBatch(): readonly Waiting[] {
    const batch = new Map<string, Waiting>()
    for (const waiting of this.#waiting.splice(0)) {
      const { id } = waiting.write.checkpoint.before
      if (batch.size < mostAtOnce && !batch.has(id)) batch.set(id, waiting)
      else this.#waiting.push(waiting)
    }
    return [...batch.values()]
  }

  async #writeAlone({ write, resolve, reject }: Waiting, db = this.#db): Promise<boolean> {
    try {
      resolve((await writeCheckpoints(db, [write])).get(write.checkpoint.before.id))
      return true
    } catch (error) {
      reject(error)
      return false
    }
  }

  /** Checkpoints that were not stored are written alone: that waits for locks, and tells whose fault an error is. */
  async #writeTogether(batch: readonly Waiting[], db: Db): Promise<boolean> {
    try {
      const all = await writeCheckpoints(
        db,
        batch.map(({ write }) => write),
      )
      for (const waiting of batch) {
        const stored = all.get(waiting.write.checkpoint.before.id)
        if (stored) waiting.resolve(stored)
        else void this.#writeAlone(waiting)
      }
      return true
    } catch (error) {
      // The statement may have been committed although its connection broke: the writers look, and try again.
      if (isTransientFailure(error)) for (const { reject } of batch) reject(error)
      else for (const waiting of batch) void this.#writeAlone(waiting)
      return false
    }
  }
}

/** Whether the statement was executed within this time. If not, its connection may be broken, or wait for a lock. */
async function isStored(written: Promise<boolean>, ms: number): Promise<boolean> {
  const { promise: over, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(resolve, ms, false)
  const stored = await Promise.race([written, over])
  clearTimeout(timer)
  return stored
}
