import type { KeysCommand } from './arguments.ts'
import { createApiKey, revokeApiKey } from '../commands/access/create-api-key.ts'
import { checkedApiKey, type ApiKey, type ApiKeyInput } from '../domain/access/api-key.ts'
import { builtinTools } from '../domain/tools/builtin-tools.ts'
import { HoldpointError } from '../domain/errors.ts'
import { uuidOf, encodeId } from '../domain/ids.ts'
import { apiScopes, type ApiScope } from '../domain/access/viewer.ts'
import { listApiKeys } from '../store/access/api-keys.ts'
import type { OpenDatabase } from '../store/database/open-database.ts'
import type { Db } from '../store/database/schema.ts'
import { ensureDefaultTenant, ensureTenant, findTenantId } from '../store/access/tenants.ts'
import { listCodeTools, upsertBuiltinTools } from '../store/tools/code-tools.ts'
import { systemClock, type Clock } from '../util/clock.ts'
import { createIdSource, type IdSource } from '../util/ids.ts'
import { StartError } from '../util/start-error.ts'

/** The commands `keys create`, `keys list` and `keys revoke`. Returns the lines to print. */
export async function manageKeys(database: OpenDatabase, command: KeysCommand): Promise<string[]> {
  try {
    return await manage(database, command)
  } catch (error) {
    if (error instanceof HoldpointError) throw new StartError(error.message, { cause: error })
    throw error
  }
}

async function manage({ db }: OpenDatabase, command: KeysCommand): Promise<string[]> {
  const clock = systemClock
  const context = { db, clock, ids: createIdSource(clock) }
  // Checked before a tenant is created.
  const newKey = command.action === 'create' ? toNewKey(command, clock.now()) : undefined
  const defaultId = await ensureDefaultTenant(db, context)
  const tenantId = await tenantOf(command, { ...context, defaultId })
  await upsertBuiltinTools(db, defaultId, builtinTools, context)
  // This process has no tools in code. Servers have stored theirs for every tenant that existed when they started.
  if (tenantId !== defaultId) await upsertBuiltinTools(db, tenantId, await listCodeTools(db, defaultId), context)
  switch (command.action) {
    case 'create': {
      const { apiKey, secret } = await createApiKey(context, { tenantId, createdBy: null }, newKey!)
      return [describe(apiKey), 'The secret is shown only once:', secret]
    }
    case 'list':
      return (await listApiKeys(db, { tenantId })).map(describe)
    case 'revoke':
      return [describe(await revokeApiKey(context, { tenantId, actor: null }, toUuid(command.id)))]
    default:
      return command satisfies never
  }
}

/** Only a new key makes a tenant: a name that another command does not find is misspelled. */
async function tenantOf(
  { action, tenant }: KeysCommand,
  { db, defaultId, ...context }: { db: Db; defaultId: string; clock: Clock; ids: IdSource },
): Promise<string> {
  if (tenant === undefined) return defaultId
  const id = action === 'create' ? await ensureTenant(db, tenant, context) : await findTenantId(db, tenant)
  if (id === undefined) throw new StartError(`There is no tenant "${tenant}".`)
  return id
}

function toNewKey(
  { tenant, keyName: name, scopes, expires }: Extract<KeysCommand, { action: 'create' }>,
  now: Date,
): ApiKeyInput {
  // A token can name no other tenant: see `readClaims`.
  if (tenant !== undefined && (tenant.trim() === '' || tenant.length > 200))
    throw new StartError('--tenant must be a name of 1 to 200 characters.')
  const expiresAt = expires === undefined ? null : toTime(expires)
  return checkedApiKey('input', { name, scopes: scopes.map(toScope), expiresAt }, now)
}

function toScope(given: string): ApiScope {
  const scope = apiScopes.find((known) => known === given)
  if (scope === undefined) throw new StartError(`There is no scope "${given}": use ${apiScopes.join(', ')}.`)
  return scope
}

function toTime(given: string): Date {
  const time = new Date(given)
  if (Number.isNaN(time.getTime()))
    throw new StartError(`--expires is "${given}", but must be a time such as 2027-01-31T00:00:00Z.`)
  return time
}

function toUuid(id: string): string {
  const uuid = uuidOf('ApiKey', id)
  if (uuid === undefined) throw new StartError(`There is no API key with the id ${id}: see keys list.`)
  return uuid
}

function describe({ id, name, scopes, expiresAt, revokedAt, lastUsedAt }: ApiKey): string {
  const state = [
    revokedAt && `revoked ${revokedAt.toISOString()}`,
    expiresAt && `expires ${expiresAt.toISOString()}`,
    lastUsedAt ? `last used ${lastUsedAt.toISOString()}` : 'never used',
  ]
  return [encodeId('ApiKey', id), name, scopes.join(','), ...state.filter(Boolean)].join('  ')
}
