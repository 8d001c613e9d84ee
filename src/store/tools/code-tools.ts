import type { BuiltinTool } from '../../domain/tools/builtin-tools.ts'
import { followCode, settingsInCode, type CodeSettings } from '../../domain/tools/code-tools.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import type { Clock } from '../../util/clock.ts'
import type { IdSource } from '../../util/ids.ts'
import { sameJson, type Json } from '../../util/json.ts'
import { toColumns } from '../database/columns.ts'
import type { Db } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { setTool, toTool } from './tools.ts'

export interface KeptSettings {
  readonly name: string
  readonly settings: readonly (keyof CodeSettings)[]
}

/**
 * Updates the tenant's tools of kind BUILTIN to what the code defines. Settings that a client has changed are kept and
 * returned. If the tenant has a tool of its own under the name, that tool stays. With `marksMissing`, tools that are no
 * longer in the code become unavailable, except those that another process has in its code. Writes nothing if nothing
 * changed.
 */
export async function upsertBuiltinTools(
  db: Db,
  tenantId: string,
  definitions: readonly BuiltinTool[],
  options: {
    readonly clock: Clock
    readonly ids: IdSource
    readonly marksMissing?: { readonly except: readonly string[] } | undefined
  },
): Promise<KeptSettings[]> {
  const now = options.clock.now()
  const byName = new Map(definitions.map((definition) => [definition.name, definition]))
  return db.transaction().execute(async (trx) => {
    await insertMissing(trx, tenantId, definitions, { now, ids: options.ids })
    const rows = await trx
      .selectFrom('tools')
      .selectAll()
      .where(ofTenant('tools', { tenantId }))
      .where('kind', '=', 'BUILTIN')
      .orderBy('id')
      .forUpdate()
      .execute()
    const kept: KeptSettings[] = []
    for (const row of rows) {
      const stored = toTool(row)
      const definition = byName.get(row.name)
      if (!definition) {
        if (options.marksMissing?.except.includes(row.name) === false && stored.isAvailable)
          await setTool(trx, { ...stored, isAvailable: false, updatedAt: now })
        continue
      }
      const code = settingsInCode(definition)
      const followed = followCode(stored, row.code_settings ?? code, definition)
      if (followed.kept.length > 0) kept.push({ name: row.name, settings: followed.kept })
      if (isSame(followed.tool, stored) && sameJson(row.code_settings, code)) continue
      await setTool(trx, { ...followed.tool, updatedAt: now })
      await trx
        .updateTable('tools')
        .set({ code_settings: JSON.stringify(code) })
        .where('id', '=', row.id)
        .execute()
    }
    return kept
  })
}

/** The tenant's tools that are defined in code, as the code last defined them, without what a client has changed. */
export async function listCodeTools(db: Db, tenantId: string): Promise<BuiltinTool[]> {
  const rows = await db
    .selectFrom('tools')
    .selectAll()
    .where(ofTenant('tools', { tenantId }))
    .where('kind', '=', 'BUILTIN')
    .where('is_available', '=', true)
    .execute()
  return rows.map((row) => {
    const { name, description, parameters, parallel, idempotent } = toTool(row)
    return { name, description, parameters, parallel, idempotent, ...row.code_settings }
  })
}

function isSame(one: Tool, other: Tool): boolean {
  return sameJson(one as unknown as Json, other as unknown as Json)
}

async function insertMissing(
  trx: Db,
  tenantId: string,
  definitions: readonly BuiltinTool[],
  { now, ids }: { readonly now: Date; readonly ids: IdSource },
): Promise<void> {
  if (definitions.length === 0) return
  const rows = definitions.map((definition) => {
    const code = settingsInCode(definition)
    return {
      ...toColumns(definition, ['name', 'description', 'parallel', 'idempotent'], ['parameters']),
      ...toColumns(
        code,
        ['requiresApproval', 'approvalTimeoutMs', 'returnCharLimit', 'timeoutMs', 'tags'],
        ['approvalCondition'],
      ),
      ...{ id: ids.next(), tenant_id: tenantId, kind: 'BUILTIN' as const, code_settings: JSON.stringify(code) },
      ...{ created_at: now, updated_at: now },
    }
  })
  await trx
    .insertInto('tools')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doNothing())
    .execute()
}
