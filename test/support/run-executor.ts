import { parse, subscribe, type ExecutionResult } from 'graphql'

import { viewerOf } from './viewer.ts'
import { createLoaders } from '../../src/graphql/loaders.ts'
import { schema } from '../../src/graphql/schema.ts'
import type { Execution, Ground } from './execute.ts'

/** The schema as one tenant uses it. Each operation has its own context. */
export interface Executor {
  /** Returns the data. Throws if there is an error. */
  data(document: string, variables?: Record<string, unknown>): Promise<any>
  /** Returns the only error of an operation that must fail. */
  error(document: string, variables?: Record<string, unknown>): Promise<Execution['errors'][number]>
  /** How many statements the operation takes. */
  statements(document: string, variables?: Record<string, unknown>): Promise<number>
  /** The events, or the errors instead of them. */
  subscribe(
    document: string,
    variables?: Record<string, unknown>,
  ): Promise<AsyncGenerator<ExecutionResult> | ExecutionResult>
}

export function createExecutor(ground: Ground, tenantId: string): Executor {
  const viewer = viewerOf(tenantId)
  return {
    data: (document, variables) => ground.run(document, variables, viewer),
    async error(document, variables) {
      const { errors } = await ground.execute(document, variables, viewer)
      if (errors.length !== 1) throw new Error(`expected one error, got ${JSON.stringify(errors)}`)
      return errors[0]!
    },
    async statements(document, variables) {
      const { statements, errors } = await ground.execute(document, variables, viewer)
      if (errors.length > 0) throw new Error(JSON.stringify(errors))
      return statements
    },
    async subscribe(document, variables = {}) {
      const contextValue = { ...ground.context, viewer, loaders: createLoaders(ground.db, viewer) }
      const result = await subscribe({ schema, document: parse(document), variableValues: variables, contextValue })
      return result as AsyncGenerator<ExecutionResult> | ExecutionResult
    },
  }
}
