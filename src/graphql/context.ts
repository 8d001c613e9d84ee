import type { DecisionLinks } from '../auth/decision-links.ts'
import type { OwnTokens } from '../auth/own-tokens.ts'
import type { CommandContext } from '../commands/command-context.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import type { Loaders } from './loaders.ts'

/** What an operation costs, and what the limits leave to the viewer. */
export interface RateLimit {
  readonly cost: number
  readonly costLimit: number
  /** Null if requests are not limited. */
  readonly requestsPerSecond: number | null
  readonly remaining: number | null
}

/** The context of resolvers. Each operation has its own; a subscription keeps its own until it ends. */
export interface Context extends CommandContext {
  readonly viewer: Viewer
  readonly ownTokens: OwnTokens
  readonly decisionLinks: DecisionLinks
  readonly loaders: Loaders
  /** Set by the server when it has checked the operation. */
  readonly rateLimit?: () => RateLimit
}
