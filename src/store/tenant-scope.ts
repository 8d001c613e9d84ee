import { sql, type RawBuilder, type SqlBool } from 'kysely'

import type { Database } from './schema.ts'

type TenantTable = {
  [Table in keyof Database]: Database[Table] extends { tenant_id: string } ? Table : never
}[keyof Database]

/** The one place that filters by tenant: `where(ofTenant('agents', tenantId))`. */
export function ofTenant(table: TenantTable, tenantId: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.ref(`${table}.tenant_id`)} = ${tenantId}::uuid`
}
