import type { OwnTokens } from '../auth/own-tokens.ts'
import type { CommandContext } from '../commands/command-context.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import type { Loaders } from './loaders.ts'

/** The context of resolvers. Each operation has its own; a subscription keeps its own until it ends. */
export interface Context extends CommandContext {
  readonly viewer: Viewer
  readonly ownTokens: OwnTokens
  readonly loaders: Loaders
}
