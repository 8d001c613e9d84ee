import { readFileSync } from 'node:fs'

import { sql } from 'kysely'

import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import type { ServerProcess } from './server-process.ts'

export interface Spent {
  /** Processor time of the server's process. */
  readonly cpuMs: number
  /** Pages that Postgres read. */
  readonly blocks: number
  /** Bytes would count whole pages too, which are written once after each of Postgres' own checkpoints. */
  readonly walRecords: number
}

export async function spentSoFar({ db }: OpenDatabase, { child }: ServerProcess): Promise<Spent> {
  // Sessions report their statistics with a delay of about a second, which is little compared with hundreds of turns.
  const { rows } = await sql<{ wal_records: string; blocks: string }>`
    select wal_records, blks_hit + blks_read as blocks
    from pg_stat_wal, pg_stat_database where datname = current_database()`.execute(db)
  const [user, system] = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ').slice(11, 13)
  const cpuMs = (Number(user) + Number(system)) * 10
  return { cpuMs, blocks: Number(rows[0]!.blocks), walRecords: Number(rows[0]!.wal_records) }
}

export function residentMegabytes({ child }: ServerProcess): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024)
}
