import { parseCommand } from './cli/arguments.ts'
import { helpText } from './cli/help.ts'
import { watchForStop, type StopRequest } from './cli/stop-request.ts'
import { databaseOptions, readConfig, type Config } from './config/config.ts'
import { protectSecrets } from './store/access/stored-secrets.ts'
import { chapters } from './config/settings.ts'
import { refuseNewer } from './store/database/migrate.ts'
import type { OpenDatabase } from './store/database/open-database.ts'
import { openStore, type Store } from './store/database/open-store.ts'
import { findTenantSecret } from './store/access/tenants.ts'
import { createLog, type Log } from './util/log.ts'
import { createSecretBox, SecretKeyError } from './util/secret-box.ts'
import { StartError, errorCode } from './util/start-error.ts'
import { version } from './util/version.ts'

const stillOpenMs = 3_000

async function main(args: readonly string[]): Promise<void> {
  const command = parseCommand(args)
  switch (command.name) {
    case 'help':
      return print(helpText(version, chapters))
    case 'version':
      return print(version)
    case 'wrong':
      process.exitCode = 2
      return complain(command.message)
    case 'serve':
    case 'worker': {
      const role = command.name
      return withDatabase((parts) => serve(role, parts), { prepare: loadServer })
    }
    case 'init': {
      const { writeProject } = await import('./cli/init.ts')
      return print((await writeProject(command.folder, { version })).join('\n'))
    }
    case 'keys': {
      const { manageKeys } = await import('./cli/manage-keys.ts')
      return withDatabase(async ({ database, config, log }) => {
        const protect = () => protectSecrets(database.db, createSecretBox(config.HOLDPOINT_SECRET_KEY), log)
        // With a wrong HOLDPOINT_SECRET_KEY, nothing is created.
        await protect()
        const lines = await manageKeys(database, command)
        // A tenant that was just created has a new signing secret, which may have to be encrypted.
        await protect()
        for (const line of lines) print(line)
      })
    }
    case 'signing-secret':
      return withDatabase(async ({ database, config }) =>
        print(await findSigningSecret(database, config, command.tenant)),
      )
    case 'migrate':
      if (command.check) return withDatabase(({ database }) => checkMigrations(database), { migrates: false })
      return withDatabase(({ migrated }) =>
        print(migrated.length > 0 ? `migrated ${migrated.join(' ')}` : 'up to date'),
      )
    default:
      command satisfies never
  }
}

interface Parts extends Pick<Store, 'database' | 'migrated'> {
  readonly config: Config
  readonly log: Log
  readonly stop: StopRequest
}

interface DatabaseOptions {
  /** Work that can begin while Postgres starts. If it fails, the work that needs it reports the failure. */
  readonly prepare?: () => Promise<unknown>
  /** Defaults to true. */
  readonly migrates?: boolean
}

/** Opens and migrates the database, does the work and closes everything, even if the process is asked to stop early. */
async function withDatabase(
  work: (parts: Parts) => Promise<void> | void,
  { prepare, migrates = true }: DatabaseOptions = {},
): Promise<void> {
  const config = readConfig()
  prepare?.().catch(() => {})
  const log = createLog(config.LOG_LEVEL)
  const stop = watchForStop({ log, watchParent: config.underNpm })
  let store: Store | undefined
  try {
    store = await openStore({ ...databaseOptions(config), migrates, log, signal: stop.signal })
    if (!stop.signal.aborted) await work({ config, log, stop, ...store })
  } finally {
    await close(store, log)
    setTimeout(() => exitDespite(log), stillOpenMs).unref()
  }
}

/** Whatever fails to close does not keep the rest open. */
async function close(opened: { close(): Promise<void> } | undefined, log: Log): Promise<void> {
  await opened?.close().catch((error: unknown) => {
    log.error({ err: error }, 'a shutdown step failed')
    process.exitCode = 1
  })
}

/** Loading the whole server takes longer than any other command, so only the commands that need it do so. */
function loadServer() {
  return import('./app.ts')
}

async function serve(role: 'serve' | 'worker', { config, log, stop, database }: Parts): Promise<void> {
  const { createApp } = await loadServer()
  const app = await createApp({ config, database, log, role })
  try {
    const { url } = await app.start().catch((error: unknown) => {
      throw explainListening(error, config)
    })
    log.info({ version, role, url, capacity: config.HOLDPOINT_WORKERS, node: process.version }, 'started')
    print(`ready ${url ?? role}`)
    await stop.asked
  } finally {
    await close({ close: app.stop }, log)
  }
}

/** For a deployment that checks before it starts the new version. */
async function checkMigrations({ db }: OpenDatabase): Promise<void> {
  const { pending } = await refuseNewer(db)
  if (pending.length === 0) return print('up to date')
  process.exitCode = 1
  print(`pending ${pending.join(' ')}`)
}

async function findSigningSecret(
  { db }: OpenDatabase,
  { HOLDPOINT_SECRET_KEY: secretKeys }: Config,
  tenant: string | undefined,
): Promise<string> {
  const secret = await findTenantSecret(db, createSecretBox(secretKeys), tenant).catch((error: unknown) => {
    throw error instanceof SecretKeyError ? new StartError(error.message, { cause: error }) : error
  })
  if (secret === undefined)
    throw new StartError(
      tenant === undefined ? 'There is no tenant yet: start the server once.' : `There is no tenant "${tenant}".`,
    )
  return secret
}

function explainListening(error: unknown, { HOST: host, HOLDPOINT_HEALTH_PORT: healthPort }: Config): unknown {
  const { port } = error as NodeJS.ErrnoException & { readonly port?: number }
  const variable = port === healthPort ? 'HOLDPOINT_HEALTH_PORT' : 'PORT'
  switch (errorCode(error)) {
    case 'EADDRINUSE':
      return new StartError(
        `Port ${port} on ${host} is in use: stop what listens there, or set ${variable} to another one.`,
      )
    case 'EACCES':
      return new StartError(
        `Port ${port} on ${host} needs more rights than this account has: set ${variable} to a number above 1023.`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new StartError(
        `HOST is "${host}", which is not an address of this machine: set it to one, such as 127.0.0.1.`,
      )
    default:
      return error
  }
}

/** The process ends by itself once nothing is open. If a bug leaves something open, it ends all the same. */
function exitDespite(log: Log): void {
  log.warn({ open: process.getActiveResourcesInfo() }, 'something is still open after the shutdown')
  process.exit()
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

function complain(line: string): void {
  process.stderr.write(`holdpoint: ${line}\n`)
}

// The reader of the output, such as `head`, may end before this process.
process.stdout.on('error', () => {})

try {
  await main(process.argv.slice(2))
} catch (error) {
  process.exitCode = 1
  complain(
    error instanceof StartError
      ? error.message
      : `this is a bug: ${error instanceof Error ? error.stack : String(error)}`,
  )
}
