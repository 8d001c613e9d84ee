import type { Exchange } from '../domain/models/model-request.ts'
import type { RunError } from '../domain/runs/run.ts'
import type { StepKey } from '../store/runs/steps.ts'
import { putStepExchange } from '../store/runs/step-exchanges.ts'
import { cutText } from '../util/json.ts'
import type { EngineContext } from './engine-context.ts'

/** A longer text inside a request, such as an image, is cut, because the conversation has it in full. */
const maxTextCharacters = 100_000
const maxResponseCharacters = 4_000_000

/**
 * Keeps what is sent to a model and what it answers in memory until it is stored. Of several attempts, only the last.
 */
export class KeptExchange implements Exchange {
  #model = ''
  #request: string | null = null
  #events: string[] = []
  #characters = 0
  #omitted = 0

  sent(model: string, body: object): void {
    this.#model = model
    this.#request = JSON.stringify(body, shortened)
    this.#events = []
    this.#characters = 0
    this.#omitted = 0
  }

  received(event: object): void {
    const text = written(event)
    this.#characters += text?.length ?? 0
    if (text === undefined || this.#characters > maxResponseCharacters) this.#omitted += 1
    else this.#events.push(text)
  }

  failed(error: RunError): void {
    this.received({ error })
  }

  /** Stores the exchange. A failure is only logged, because the answer must not be lost over it. */
  async keep({ db, clock, catalog, log }: EngineContext, step: StepKey): Promise<void> {
    if (this.#request === null) return
    const events = this.#omitted > 0 ? [...this.#events, `{"omittedEvents":${this.#omitted}}`] : this.#events
    const redact = catalog.providerOf(this.#model)?.redact ?? ((text: string) => text)
    const response = events.length > 0 ? redact(`[${events.join(',')}]`) : null
    try {
      await putStepExchange(db, step, { request: redact(this.#request), response, now: clock.now() })
    } catch (error) {
      log.warn({ err: error, runId: step.runId }, 'a request to a model could not be kept')
    }
  }
}

/** Undefined for an event that is nested too deeply to be written as JSON again. */
function written(event: object): string | undefined {
  try {
    return JSON.stringify(event)
  } catch {
    return undefined
  }
}

function shortened(_key: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= maxTextCharacters) return value
  return `${cutText(value, 200)}… (${value.length} characters)`
}
