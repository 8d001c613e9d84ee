import type { GraphQLSchema } from 'graphql'

import type { Subgraph } from '../graphql/subgraph.ts'
import type { Log } from '../util/log.ts'
import type { Ready } from './health/health.ts'
import type { MetricsPage } from './health/metrics.ts'
import type { Limits } from './limits/limits.ts'
import type { TrustedDocuments } from './limits/trusted-documents.ts'
import type { OperationObserver } from './operation-spans.ts'
import type { Decisions } from './pages/decision-page.ts'
import type { OpenFile } from './pages/files.ts'
import type { Authenticate, ClientOf } from './transport.ts'

export interface HttpServerOptions<Viewer> {
  readonly schema: GraphQLSchema
  /** If given, the API is a subgraph too. */
  readonly subgraph?: Subgraph | undefined
  readonly authenticate: Authenticate<Viewer>
  /** Called once per operation, on every transport. */
  readonly createContext: (viewer: Viewer) => object
  /** The key of the counter for limits per key. Defaults to one counter for all viewers. */
  readonly clientOf?: ClientOf<Viewer>
  /** Whether to refuse new requests for now. Defaults to never. */
  readonly isOverloaded?: () => boolean
  /** What `GET /files/:id` sends. */
  readonly openFile: OpenFile<Viewer>
  /** What is behind `/decide/:token`. Defaults to nothing. */
  readonly decisions?: Decisions
  readonly log: Log
  readonly limits?: Partial<Limits>
  readonly graphiql: boolean
  /** If given, no other documents are executed. */
  readonly trustedDocuments?: TrustedDocuments | undefined
  /** Whether to serve the web console. Defaults to false. */
  readonly console?: boolean
  /** Origins of other sites whose pages may use the API. Defaults to none. */
  readonly allowedOrigins?: readonly string[]
  readonly ready: Ready
  /** Called for every query and mutation. Without it, operations have no spans. */
  readonly observeOperation?: OperationObserver | undefined
  /** What `/metrics` shows to viewers that pass `check`. `check` throws FORBIDDEN for all others. */
  readonly metrics?: MetricsPage & { readonly check: (viewer: Viewer) => void }
}
