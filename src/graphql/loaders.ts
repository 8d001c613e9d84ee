import type { Kysely } from 'kysely'

import type { Reach } from '../domain/access/viewer.ts'
import type { Database } from '../store/database/schema.ts'
import { createConfigurationLoaders, type ConfigurationLoaders } from './configuration-loaders.ts'
import { createRunLoaders, type RunLoaders } from './run-loaders.ts'

/**
 * Batches what a list would otherwise query row by row. Everything is filtered by tenant, so objects of other tenants
 * do not exist here.
 */
export type Loaders = ConfigurationLoaders & RunLoaders

const forget = Symbol('forget')

/** Each is made when it is first used: there are many, and a waiting subscription needs none. */
export function createLoaders(db: Kysely<Database>, reach: Reach): Loaders {
  let made: Loaders | undefined
  const handler: ProxyHandler<Loaders> = {
    get(_target, name) {
      if (name === forget) return () => (made = undefined)
      made ??= { ...createConfigurationLoaders(db, reach), ...createRunLoaders(db, reach) }
      return made[name as keyof Loaders]
    },
  }
  return new Proxy({} as Loaders, handler)
}

/** What was loaded may have changed, so everything is read again from here on. */
export function clearLoaders(loaders: Loaders): void {
  ;(loaders as Loaders & { readonly [forget]: () => void })[forget]()
}
