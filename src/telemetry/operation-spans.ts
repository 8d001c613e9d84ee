import type { TraceContext } from '../util/trace-context.ts'
import type { EmitSpan } from './span.ts'

/** A query or mutation that was executed, as the server reports it. */
export interface ObservedOperation {
  readonly type: string
  readonly name: string | undefined
  readonly trace: TraceContext
  readonly parent: TraceContext | undefined
  readonly start: Date
  readonly end: Date
  readonly errors: readonly string[]
}

export function createOperationSpans(emit: EmitSpan): (operation: ObservedOperation) => void {
  return ({ type, name, trace, parent, start, end, errors }) => {
    if (!trace.sampled) return
    emit({
      ...trace,
      parentSpanId: parent?.spanId ?? null,
      name: name === undefined ? type : `${type} ${name}`,
      kind: 'SERVER',
      start,
      end,
      attributes: {
        'graphql.operation.type': type,
        'graphql.operation.name': name,
        'error.type': errors.length > 0 ? 'graphql_error' : undefined,
      },
      error: errors[0] ?? null,
    })
  }
}
