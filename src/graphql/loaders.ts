import type { Kysely } from 'kysely'

import type { Database } from '../store/schema.ts'
import { createConfigurationLoaders, type ConfigurationLoaders } from './configuration-loaders.ts'
import { createRunLoaders, type RunLoaders } from './run-loaders.ts'

/** Batches what a list would otherwise ask row by row. Filtered by tenant: what another tenant has is not there. */
export type Loaders = ConfigurationLoaders & RunLoaders

export function createLoaders(db: Kysely<Database>, tenantId: string): Loaders {
  return { ...createConfigurationLoaders(db, tenantId), ...createRunLoaders(db, tenantId) }
}

/** What was loaded may have changed: whatever is asked for from here on is read again. */
export function clearLoaders(loaders: Loaders): void {
  for (const loader of Object.values(loaders) as { clearAll(): unknown }[]) loader.clearAll()
}
