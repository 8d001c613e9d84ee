import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Log } from '../../../util/log.ts'
import { StartError, errorCode } from '../../../util/start-error.ts'
import { chooseBinaries } from './binaries.ts'
import { createCluster, openDataFolder, readMajor, readPassword, superuser } from './data-folder.ts'
import { takeUseLock, type UseLock } from './use-lock.ts'
import { findPostmaster } from './postmaster-file.ts'
import { findFreePort, launchPostmaster, stopPostmaster, type Cluster, type LaunchedPostmaster } from './postmaster.ts'

export interface EmbeddedPostgres {
  readonly url: string
  /** Where Postgres keeps its files. */
  readonly folder: string
  /** Ends this process's use of the server. The last user to stop also stops the server. May be called twice. */
  stop(): Promise<void>
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string
  readonly log: Log
  /** Settings of Postgres, such as `{ fsync: 'off' }` in tests. They apply if this process starts the server. */
  readonly settings?: Readonly<Record<string, string>>
  /** Used only as root: the folder for whatever Postgres could not reach below the data folder or the project. */
  readonly outsideFolder?: string
}

const database = 'holdpoint'
const startDeadlineMs = 120_000

/**
 * Lets this process use the Postgres of the data folder: creates the database if there is none, starts the server if
 * none runs, or joins one that another process started, even if that process was killed. If the server dies later, it
 * is started again on the same port, so the pool's next connection finds it.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log } = options
  const cluster = await openCluster(options)
  let held = await useServer(cluster, await findFreePort())
  const url = addressOf(cluster, held.port, database)
  let stopping: Promise<void> | undefined
  const isStopping = () => stopping !== undefined
  try {
    await createDatabase(held.useLock)
  } catch (error) {
    await leaveServer(cluster, held.useLock)
    throw error
  }
  const keeping = keepServer()

  async function keepServer(): Promise<void> {
    while (!isStopping()) {
      await held.useLock.lost
      if (isStopping()) return
      log.warn('the embedded Postgres has ended; starting it again')
      try {
        held = await useServer(cluster, held.port)
        if (isStopping()) await leaveServer(cluster, held.useLock)
      } catch (error) {
        log.error({ err: error }, 'the embedded Postgres cannot be started again')
        await sleep(1_000)
      }
    }
  }

  return {
    url,
    folder: cluster.folder,
    stop() {
      stopping ??= leaveServer(cluster, held.useLock).then(() => keeping)
      return stopping
    },
  }
}

async function openCluster(options: EmbeddedPostgresOptions): Promise<Cluster> {
  const { dataDir, log, settings = {}, outsideFolder = '/var/lib/holdpoint' } = options
  const dataFolder = await openDataFolder(dataDir)
  const { folder, account } = dataFolder
  const major = await readMajor(dataFolder.cluster)
  const copyFolder = account === undefined ? join(folder, 'binaries') : join(outsideFolder, 'binaries')
  const binaries = await chooseBinaries(major, { account, copyFolder, dataFolder: dataFolder.cluster, log })
  if (major === undefined) {
    await createCluster(dataFolder, { binaries, outsideFolder, sync: settings['fsync'] !== 'off', log })
  }
  const logFile = join(folder, 'postgres.log')
  const password = await readPassword(dataFolder.cluster)
  return { folder: await realpath(dataFolder.cluster), password, logFile, account, binaries, settings }
}

interface Held {
  readonly useLock: UseLock
  readonly port: number
}

/** Checks the current state and takes the next missing step, until this process has a use lock. */
async function useServer(cluster: Cluster, preferredPort: number): Promise<Held> {
  const deadline = Date.now() + startDeadlineMs
  let port = preferredPort
  let launched: LaunchedPostmaster | undefined
  for (; Date.now() < deadline; await sleep(10)) {
    const running = await findPostmaster(cluster.folder)
    if (running === undefined) {
      const state = (await launched?.state()) ?? 'stopped'
      if (state === 'running') continue
      if (state !== 'stopped') port = await portAfter(state.failure, port, cluster)
      launched = await launchPostmaster(cluster, port)
    } else if (running.port !== undefined) {
      const useLock = await takeUseLock(addressOf(cluster, running.port, 'postgres'))
      if (useLock !== undefined) return { useLock, port: running.port }
    }
  }
  throw new StartError(
    `Postgres on ${cluster.folder} is not ready after ${startDeadlineMs / 1000} s: see ${cluster.logFile}.`,
  )
}

/**
 * Decides what to do after a server that ended at once: try another port if that one was taken; try again if another
 * process was faster, or if a killed server is still shutting down. Any other failure is permanent.
 */
async function portAfter(failure: string, port: number, cluster: Cluster): Promise<number> {
  if (failure.includes('Address already in use')) return findFreePort()
  if (['lock file "postmaster.pid"', 'shared memory block'].some((passing) => failure.includes(passing))) return port
  const reason = /(?:FATAL|PANIC): +(.+)/.exec(failure)?.[1] ?? failure.trim().split('\n').at(-1)
  throw new StartError(
    `Postgres does not start on ${cluster.folder}: ${reason || 'no reason given'} (see ${cluster.logFile}).`,
  )
}

async function leaveServer(cluster: Cluster, useLock: UseLock): Promise<void> {
  if (await useLock.leave()) await stopPostmaster(cluster)
  await useLock.close()
}

async function createDatabase({ client }: UseLock): Promise<void> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [database])
  if (rowCount !== 0) return
  await client.query(`create database ${database}`).catch((error: unknown) => {
    // Two processes that start at once may both find no database.
    if (!['42P04', '23505'].includes(errorCode(error) ?? '')) throw error
  })
}

function addressOf({ password }: Cluster, port: number, databaseName: string): string {
  return `postgres://${superuser}:${password}@127.0.0.1:${port}/${databaseName}`
}
