import type { Kysely } from 'kysely'

import type { ModelCatalog } from '../domain/model.ts'
import type { Viewer } from '../domain/viewer.ts'
import type { Database } from '../store/schema.ts'
import type { Clock } from '../util/clock.ts'
import type { IdSource } from '../util/ids.ts'
import type { Loaders } from './loaders.ts'

/** What resolvers have at hand. One per operation; a subscription keeps its own for as long as it lasts. */
export interface Context {
  readonly viewer: Viewer
  readonly db: Kysely<Database>
  readonly clock: Clock
  readonly ids: IdSource
  readonly models: ModelCatalog
  readonly loaders: Loaders
}
