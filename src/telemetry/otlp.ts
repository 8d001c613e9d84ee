import type { Log } from '../util/log.ts'
import type { Metrics } from './metrics.ts'
import { toOtlpMetrics, toOtlpSpans } from './otlp-format.ts'
import type { EmitSpan, Span } from './span.ts'

export interface OtlpOptions {
  /** The base address, to which `/v1/traces` and `/v1/metrics` are added. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** Attributes of this process. */
  readonly resource: Readonly<Record<string, string>>
  readonly metrics: Metrics
  readonly log: Log
}

const spansAtOnce = 512
/** The most spans that wait while the receiver does not keep up. Beyond that, the oldest are dropped. */
const maxWaiting = 8_192
const spansEveryMs = 2_000
const metricsEveryMs = 30_000
const requestMs = 10_000
/** Statuses after which a receiver wants the same request again. */
const retried = [429, 502, 503, 504]

/**
 * Sends spans and metrics by OTLP over HTTP, as JSON. Nothing waits for it: what a receiver does not accept in time is
 * dropped, and this is logged once.
 */
export class OtlpExporter {
  readonly #options: OtlpOptions
  #waiting: Span[] = []
  #timers: NodeJS.Timeout[] = []
  #sending: Promise<void> | undefined
  #failing = false

  constructor(options: OtlpOptions) {
    this.#options = options
  }

  readonly emit: EmitSpan = (span) => {
    this.#waiting.push(span)
    if (this.#waiting.length > maxWaiting) this.#waiting.shift()
    if (this.#waiting.length >= spansAtOnce) void this.#sendSpans()
  }

  start(): void {
    this.#timers = [
      setInterval(() => void this.#sendSpans(), spansEveryMs),
      setInterval(() => void this.#sendMetrics(), metricsEveryMs),
    ]
    for (const timer of this.#timers) timer.unref()
  }

  /** Sends what is left. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#sending
    await Promise.all([this.#sendSpans(), this.#sendMetrics()])
  }

  #sendSpans(): Promise<void> {
    return (this.#sending ??= this.#sendWaiting().finally(() => (this.#sending = undefined)))
  }

  async #sendWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, spansAtOnce)
      const outcome = await this.#post('/v1/traces', toOtlpSpans(batch, this.#options.resource))
      if (outcome !== 'again') continue
      this.#waiting = [...batch, ...this.#waiting].slice(-maxWaiting)
      return
    }
  }

  async #sendMetrics(): Promise<void> {
    const { metrics, resource } = this.#options
    const families = await metrics.collect()
    await this.#post('/v1/metrics', toOtlpMetrics(families, { startedAt: metrics.startedAt, resource }))
  }

  /** Never rejects. */
  async #post(path: string, body: object): Promise<'sent' | 'refused' | 'again'> {
    const { endpoint, headers, log } = this.#options
    const fail = (facts: object) => {
      if (!this.#failing) log.warn({ endpoint: endpoint + path, ...facts }, 'traces and metrics could not be sent')
      this.#failing = true
    }
    try {
      const response = await fetch(endpoint.replace(/\/$/, '') + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(requestMs),
      })
      const text = await response.text()
      if (response.ok) {
        this.#failing = false
        return 'sent'
      }
      fail({ status: response.status, answer: text.slice(0, 300) })
      return retried.includes(response.status) ? 'again' : 'refused'
    } catch (error) {
      fail({ err: error })
      return 'again'
    }
  }
}
