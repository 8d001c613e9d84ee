import { createOperationSpans } from './operation-spans.ts'
import { OtlpExporter, type OtlpOptions } from './otlp.ts'
import { createRunSpans, type SpanOptions } from './trace-runs.ts'

/** Makes spans of runs and operations, and sends them and the metrics to a receiver once the exporter is started. */
export function startTracing(options: OtlpOptions & SpanOptions) {
  const exporter = new OtlpExporter(options)
  return {
    exporter,
    observeRun: createRunSpans(exporter.emit, options),
    observeOperation: createOperationSpans(exporter.emit),
  }
}
