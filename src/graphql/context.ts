import type { CommandContext } from '../commands/command-context.ts'
import type { Viewer } from '../domain/viewer.ts'
import type { Loaders } from './loaders.ts'

/** What resolvers have at hand. One per operation; a subscription keeps its own for as long as it lasts. */
export interface Context extends CommandContext {
  readonly viewer: Viewer
  readonly loaders: Loaders
}
