import type { ExecutionArgs } from 'graphql'

import type { RateLimit } from '../graphql/context.ts'
import type { Answer } from './answer.ts'

/** What the server keeps in the context of an operation, besides what resolvers use. */
interface OperationContext {
  readonly viewer?: unknown
  /** Not on WebSockets, which have the key that `connection_init` showed. */
  readonly request?: Request
  readonly answer?: Answer
  readonly key?: string | null
  rateLimit?: () => RateLimit
}

export function contextOf({ contextValue }: Pick<ExecutionArgs, 'contextValue'>): OperationContext {
  return contextValue as OperationContext
}
