import pg from 'pg'

import type { Log } from '../../util/log.ts'
import { endConnection, keepAlive, socketOf } from './connections.ts'
import { onlyRow } from './rows.ts'

export interface SilenceTimes {
  /** How often connections in use are looked at. */
  readonly lookMs: number
  /** How long the database may take to answer on a new connection. */
  readonly answerMs: number
}

export const silenceTimes: SilenceTimes = { lookMs: 1_000, answerMs: 5_000 }

/** A connection that received nothing for this many looks is in doubt. */
const doubtLooks = 2

/** After this many looks, a statement is logged, or its connection broken if the database does not answer on a new one. */
const longLooks = 10

/** A statement that still waits is logged again after this many more looks. */
const againLooks = 60

export interface SilenceWatch {
  /** Of a pool: finds out which server a new connection has reached. */
  onConnect(client: pg.ClientBase): Promise<void>
  /** Begins to look. */
  watch(pool: pg.Pool): void
  /** Until the work is done, breaks connections that are silent for a while. Their statements fail as in an outage. */
  breakSilentDuring<Result>(work: Promise<Result>): Promise<Result>
  /** The listener is called when connections to a former server were broken. Returns how to remove it. */
  onMoved(listener: () => void): () => void
  stop(): void
}

interface Use {
  received: number
  /** How many looks have found nothing new. */
  quiet: number
  /** The number of looks after which the statement is logged. */
  reportAt: number
}

/** What a new connection tells. A server that refuses it answers too, but does not say who it is. */
type Answer = { readonly server: string | undefined; readonly waits: ReadonlyMap<number, string> } | undefined

/**
 * Notices that the network drops all packets between this process and the database, of which neither is told. Statements
 * would wait for their answers until the operating system gives up, which takes a quarter of an hour. The same happens
 * to connections that a failover leaves open: their server is no longer the primary, and their commits never end.
 *
 * A statement that takes long looks the same from here. So before a connection is broken, a new one is opened. If the
 * same server answers on it, the statement goes on, however long it takes, and is logged. If another server answers,
 * on this or on any other new connection, everything that is connected to the former one is broken. A statement whose
 * connection is broken fails as in any other outage. It may have been executed, or may be executed later, when its
 * packets arrive after all.
 */
export function createSilenceWatch(
  url: string,
  { log, times }: { readonly log: Log; readonly times: SilenceTimes },
): SilenceWatch {
  /** The server of each connection. */
  const servers = new Map<pg.ClientBase, string>()
  const used = new Map<pg.PoolClient, Use>()
  const listeners = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined
  let isAsking = false
  let isInDoubt = false

  function look(): void {
    let isDue = false
    for (const [client, use] of used) {
      const received = receivedBy(client)
      if (received === use.received) use.quiet += 1
      else Object.assign(use, newUse(client))
      isDue ||= use.quiet === doubtLooks || use.quiet >= use.reportAt || (isInDoubt && use.quiet > doubtLooks)
    }
    if (!isDue || isAsking) return
    isAsking = true
    const pids = [...used.keys()].map(pidOf).filter((pid) => pid !== undefined)
    void ask(url, times.answerMs, pids)
      .then(settle)
      .finally(() => (isAsking = false))
  }

  function settle(answer: Answer): void {
    isInDoubt = answer?.server === undefined
    if (answer?.server !== undefined && breakFormer(answer.server)) return
    const quiet = [...used].filter(([client, use]) => use.quiet >= longLooks && use.received === receivedBy(client))
    if (answer === undefined) {
      if (quiet.length > 0)
        log.warn({ connections: quiet.length }, 'the database does not answer; breaking connections')
      for (const [client] of quiet) breakOff(client, 'The database does not answer.')
      return
    }
    for (const [client, use] of quiet) {
      if (use.quiet < use.reportAt) continue
      use.reportAt = use.quiet + againLooks
      report(client, use, answer)
    }
  }

  /** Returns whether there were any connections to another server. */
  function breakFormer(server: string): boolean {
    const former = [...servers].filter(([, itsServer]) => itsServer !== server)
    if (former.length === 0) return false
    log.warn({ connections: former.length }, 'the database has moved to another server; breaking connections')
    for (const [client] of former) breakOff(client, 'The database has moved to another server.')
    for (const listener of listeners) listener()
    return true
  }

  function report(client: pg.PoolClient, use: Use, { waits }: NonNullable<Answer>): void {
    // pg shows the statement in progress nowhere else.
    const { _activeQuery: statement } = client as { readonly _activeQuery?: { readonly text?: string } | null }
    if (!statement) return
    // Without the values, which may be secret.
    const sql = statement.text?.replaceAll(/\s+/g, ' ').slice(0, 1_000)
    const waitsFor = waits.get(pidOf(client) ?? 0)
    log.warn({ durationMs: use.quiet * times.lookMs, sql, waitsFor }, 'a statement is still waiting for its answer')
  }

  return {
    async onConnect(client) {
      // The pool waits for this without a limit.
      const timer = setTimeout(() => breakOff(client, 'The database does not answer.'), times.answerMs)
      const asked = client.query<{ server: string }>(`select ${serverName} as server`)
      const { server } = onlyRow(await asked.finally(() => clearTimeout(timer)))
      servers.set(client, server)
      // What one connection has stored, another one must not miss.
      breakFormer(server)
    },
    watch(pool) {
      pool.on('acquire', (client) => used.set(client, newUse(client)))
      pool.on('release', (_error, client) => used.delete(client))
      pool.on('remove', (client) => {
        used.delete(client)
        servers.delete(client)
      })
      timer = setInterval(look, times.lookMs)
      timer.unref()
    },
    async breakSilentDuring(work) {
      const breaking = setInterval(() => {
        for (const [client, { quiet }] of used)
          if (quiet >= doubtLooks) breakOff(client, 'The connection was given up.')
      }, times.lookMs)
      try {
        return await work
      } finally {
        clearInterval(breaking)
      }
    },
    onMoved(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop: () => clearInterval(timer),
  }
}

function newUse(client: pg.ClientBase): Use {
  return { received: receivedBy(client), quiet: 0, reportAt: longLooks }
}

/** Another server has started at another time, to the microsecond. */
const serverName = 'pg_postmaster_start_time()::text'

function receivedBy(client: pg.ClientBase): number {
  return socketOf(client as pg.PoolClient)?.bytesRead ?? 0
}

function pidOf(client: pg.ClientBase): number | undefined {
  return (client as { readonly processID?: number | null }).processID ?? undefined
}

function breakOff(client: pg.ClientBase, why: string): void {
  socketOf(client as pg.PoolClient)?.destroy(Object.assign(new Error(why), { code: 'ETIMEDOUT' }))
}

/** Undefined if the database does not answer on a new connection. */
async function ask(url: string, withinMs: number, pids: readonly number[]): Promise<Answer> {
  const client = new pg.Client({ ...keepAlive, connectionString: url, application_name: 'holdpoint check' })
  client.on('error', () => {})
  const timer = setTimeout(() => socketOf(client)?.destroy(), withinMs)
  try {
    await client.connect()
    const answer = await client.query<{ server: string; waits: Record<string, string> | null }>(
      `select ${serverName} as server, (select json_object_agg(pid, wait_event_type || ': ' || wait_event)
        from pg_stat_activity where pid = any($1::integer[]) and wait_event is not null) as waits`,
      [pids],
    )
    const { server, waits } = onlyRow(answer)
    return { server, waits: new Map(Object.entries(waits ?? {}).map(([pid, wait]) => [Number(pid), wait])) }
  } catch (error) {
    return error instanceof pg.DatabaseError ? { server: undefined, waits: new Map() } : undefined
  } finally {
    clearTimeout(timer)
    void endConnection(client)
  }
}
