import type { KeysCommand } from './cli/arguments.ts'
import { createApiKey } from './commands/create-api-key.ts'
import { revokeApiKey } from './commands/revoke-api-key.ts'
import type { ApiKey } from './domain/access/api-key.ts'
import { builtinTools } from './domain/builtin-tools.ts'
import { HoldpointError } from './domain/errors.ts'
import { decodeId, encodeId } from './domain/ids.ts'
import { apiScopes, type ApiScope } from './domain/access/viewer.ts'
import { listApiKeys } from './store/api-keys.ts'
import type { OpenDatabase } from './store/database/open-database.ts'
import { ensureDefaultTenant, ensureTenant } from './store/access/tenants.ts'
import { listCodeTools, upsertBuiltinTools } from './store/tools/code-tools.ts'
import { systemClock } from './util/clock.ts'
import { createIdSource } from './util/ids.ts'
import { StartError } from './util/start-error.ts'

/** The commands `keys create`, `keys list` and `keys revoke`. Returns the lines to print. */
export async function manageKeys({ db }: OpenDatabase, command: KeysCommand): Promise<string[]> {
  const clock = systemClock
  const context = { db, clock, ids: createIdSource(clock) }
  const defaultId = await ensureDefaultTenant(db, context)
  const tenantId = command.tenant === undefined ? defaultId : await ensureTenant(db, command.tenant, context)
  await upsertBuiltinTools(db, defaultId, builtinTools, context)
  // This process has no tools in code. Servers have stored theirs for every tenant that existed when they started.
  if (tenantId !== defaultId) await upsertBuiltinTools(db, tenantId, await listCodeTools(db, defaultId), context)
  try {
    switch (command.action) {
      case 'create': {
        const input = {
          name: command.keyName,
          scopes: command.scopes.map(toScope),
          expiresAt: command.expires === undefined ? null : toTime(command.expires),
        }
        const { apiKey, secret } = await createApiKey(context, { tenantId, createdBy: null }, input)
        return [describe(apiKey), 'The secret is shown only once:', secret]
      }
      case 'list':
        return (await listApiKeys(db, { tenantId })).map(describe)
      case 'revoke':
        return [describe(await revokeApiKey(context, { tenantId, actor: null }, toUuid(command.id)))]
      default:
        return command satisfies never
    }
  } catch (error) {
    if (error instanceof HoldpointError) throw new StartError(error.message, { cause: error })
    throw error
  }
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
  const decoded = decodeId(id)
  if (decoded?.kind !== 'ApiKey') throw new StartError(`There is no API key with the id ${id}: see keys list.`)
  return decoded.uuid
}

function describe({ id, name, scopes, expiresAt, revokedAt, lastUsedAt }: ApiKey): string {
  const state = [
    revokedAt && `revoked ${revokedAt.toISOString()}`,
    expiresAt && `expires ${expiresAt.toISOString()}`,
    lastUsedAt ? `last used ${lastUsedAt.toISOString()}` : 'never used',
  ]
  return [encodeId('ApiKey', id), name, scopes.join(','), ...state.filter(Boolean)].join('  ')
}
