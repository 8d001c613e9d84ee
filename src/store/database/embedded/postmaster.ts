import { spawn } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'

import { cleanSurroundings, runAs, type Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { authenticationFile } from './data-folder.ts'

/** Everything needed to start and stop the server of one cluster. */
export interface Cluster {
  /** The real path of Postgres's folder. */
  readonly folder: string
  /** Of the superuser. */
  readonly password: string
  readonly logFile: string
  readonly account: Account | undefined
  readonly binaries: Binaries
  readonly settings: Readonly<Record<string, string>>
}

/** Stopped: the server was running and its last user stopped it. */
export type PostmasterState = 'running' | 'stopped' | { readonly failure: string }

export interface LaunchedPostmaster {
  state(): Promise<PostmasterState>
}

const defaultSettings = {
  listen_addresses: '127.0.0.1',
  // A socket path has at most 107 bytes, and the path of a data folder can be longer.
  unix_socket_directories: '',
  max_connections: '200',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
}

/**
 * Starts the server in a session of its own, so that Ctrl-C in a terminal does not reach it, and lets it log to a file,
 * so that it can outlive us. If two processes do this at once, Postgres lets one succeed.
 */
export async function launchPostmaster(cluster: Cluster, port: number): Promise<LaunchedPostmaster> {
  const hba = join(cluster.folder, authenticationFile)
  const settings = { ...defaultSettings, hba_file: hba, port: String(port), ...cluster.settings }

  const log = await open(cluster.logFile, 'a', 0o600)
  try {
    if (cluster.account !== undefined) await log.chown(cluster.account.uid, cluster.account.gid)
    const logStart = (await log.stat()).size
    const child = spawn(
      join(cluster.binaries.folder, 'postgres'),
      ['-D', cluster.folder, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      {
        ...cleanSurroundings,
        ...(cluster.account && { uid: cluster.account.uid, gid: cluster.account.gid }),
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
      },
    )
    child.unref()
    let spawnError: Error | undefined
    child.on('error', (error) => (spawnError = error))
    return {
      async state() {
        if (spawnError !== undefined) return { failure: spawnError.message }
        if (child.exitCode === null && child.signalCode === null) return 'running'
        if (child.exitCode === 0) return 'stopped'
        return { failure: (await readFile(cluster.logFile)).subarray(logStart).toString() }
      },
    }
  } finally {
    await log.close()
  }
}

/**
 * Fast: sessions are ended, and nothing that was committed is lost. If that takes a minute, immediate: the next start
 * then begins with recovery.
 */
export async function stopPostmaster({ folder, account, binaries }: Cluster): Promise<void> {
  const stop = (mode: string) =>
    runAs(account, join(binaries.folder, 'pg_ctl'), ['stop', '-D', folder, '-s', '-w', '-m', mode])
  if (!(await stop('fast')).ok) await stop('immediate')
}

/**
 * A port that is free right now. If another program takes it first, Postgres reports that and the caller tries again.
 */
export async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
