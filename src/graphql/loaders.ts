import type { Kysely } from 'kysely'

import type { Reach } from '../domain/viewer.ts'
import type { Database } from '../store/schema.ts'
import { createConfigurationLoaders, type ConfigurationLoaders } from './configuration-loaders.ts'
import { createRunLoaders, type RunLoaders } from './run-loaders.ts'

/** Batches what a list would otherwise ask row by row. Filtered by tenant: what another tenant has is not there. */
export type Loaders = ConfigurationLoaders & RunLoaders

const forget = Symbol('forget')

/** Made when one is first asked for: there are many of them, and a subscription that waits needs none. */
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

/** What was loaded may have changed: whatever is asked for from here on is read again. */
export function clearLoaders(loaders: Loaders): void {
  ;(loaders as Loaders & { readonly [forget]: () => void })[forget]()
}
