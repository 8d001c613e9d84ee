import { OtlpExporter, type OtlpOptions } from './otlp.ts'
import { traceRuns, type SpanOptions } from './trace-runs.ts'
import type { ObservedOperation } from '../util/trace-context.ts'
import type { EmitSpan } from './span.ts'

/** Makes spans of runs and operations, and sends them and the metrics to a receiver once the exporter is started. */
export function startTracing(options: OtlpOptions & SpanOptions) {
  const exporter = new OtlpExporter(options)
  return {
    exporter,
    observeRun: traceRuns(exporter.emit, options),
    observeOperation: traceOperations(exporter.emit),
  }
}

function traceOperations(emit: EmitSpan): (operation: ObservedOperation) => void {
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
