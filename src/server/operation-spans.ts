import { getOperationAST, type ExecutionArgs, type ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'

import { currentTrace, newTrace, withTrace, type ObservedOperation } from '../util/trace-context.ts'

export type OperationObserver = (operation: ObservedOperation) => void

/**
 * Gives each query and mutation a span in the client's trace, or in a new one. Runs that it starts belong to this span.
 * Subscriptions have none: a stream may last for days.
 */
export function useOperationSpans(observe: OperationObserver): Plugin {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      const parent = currentTrace()
      const trace = newTrace(parent)
      const start = new Date()
      const { document, operationName } = args as ExecutionArgs
      const operation = getOperationAST(document, operationName)
      const about = { type: operation?.operation ?? 'query', name: operation?.name?.value, trace, parent, start }
      setExecuteFn((given: ExecutionArgs) => withTrace(trace, () => executeFn(given) as unknown))
      return {
        onExecuteDone({ result }) {
          const errors = 'errors' in result ? ((result as ExecutionResult).errors ?? []) : []
          observe({ ...about, end: new Date(), errors: errors.map(({ message }) => message) })
        },
      }
    },
  }
}
