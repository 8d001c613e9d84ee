import type { JsonObject } from '../../util/json.ts'
import type { ModelSettings } from './model-settings.ts'
import type { ProviderData } from '../conversations/message.ts'
import type { ModelContent } from '../context/model-content.ts'
import type { RunError } from '../runs/run.ts'
import type { TokenCounts } from './usage.ts'

/** A turn of the exchange, in a form that can be converted to every provider's format. */
export type ModelMessage =
  | ({ readonly role: 'user'; readonly content: readonly ModelContent[] } & Timed)
  /** A message of the server or its operator within the exchange. */
  | ({ readonly role: 'system'; readonly text: string } & Timed)
  | { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] }
  /** Every return of the assistant turn before it, in the order of the calls. */
  | { readonly role: 'tool'; readonly returns: readonly ModelToolReturn[] }

interface Timed {
  /** When it happened. Absent unless the model is told times. */
  readonly at?: string
}

export type AssistantPart =
  | { readonly type: 'reasoning'; readonly text: string; readonly provider: ProviderData | null }
  | { readonly type: 'text'; readonly text: string; readonly provider: ProviderData | null }
  | { readonly type: 'call'; readonly callId: string; readonly name: string; readonly argumentsText: string }

export interface ModelToolReturn extends Timed {
  readonly callId: string
  readonly name: string
  readonly failed: boolean
  readonly output: string
  /** All parts, in order, if some are not text. `output` is the text among them. */
  readonly content?: readonly ModelContent[]
  /** Notes for the model in addition to the result: who changed the call's arguments, and why. */
  readonly notes?: readonly string[]
}

export interface ModelTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

/** 'required': some tool must be called. A model that cannot be forced gets only the allowed tools and chooses. */
export type ToolChoice = 'auto' | 'required' | { readonly tool: string }

/** Receives the request to a provider and its response, if they are to be kept. */
export interface Exchange {
  /** Called for each attempt, with the exact body that is sent. */
  sent(model: string, body: object): void
  /** One event of the answer, unchanged. */
  received(event: object): void
}

export interface ModelRequest {
  /** The handle: provider/name. */
  readonly model: string
  readonly systemPrompt: string
  readonly messages: readonly ModelMessage[]
  /** The tools that the rules allow now. Empty if no tool may be called. */
  readonly tools: readonly ModelTool[]
  /** Defaults to 'auto'. */
  readonly toolChoice?: ToolChoice
  readonly parallelToolCalls: boolean
  readonly settings: ModelSettings
  /** Another model will be asked if this one is not available, so there is no point in waiting for it. */
  readonly hasFallback?: boolean
  readonly exchange?: Exchange
}

/**
 * The parts of a model's stream. `item` tells interleaved pieces apart. A stream ends with exactly one 'finish' or
 * 'failure', unless it was aborted.
 */
export type ModelPart =
  | { readonly type: 'text'; readonly item: string; readonly text: string }
  | { readonly type: 'reasoning'; readonly item: string; readonly text: string }
  | { readonly type: 'call'; readonly item: string; readonly callId: string; readonly name: string }
  | { readonly type: 'arguments'; readonly item: string; readonly text: string }
  /** The item is complete. `provider` is what must be sent back with it. */
  | {
      readonly type: 'done'
      readonly item: string
      readonly redacted?: boolean
      readonly provider?: ProviderData
    }
  /** A chunk without content: the model is still working. */
  | { readonly type: 'alive' }
  /** Counts so far, for requests that do not finish. */
  | { readonly type: 'usage'; readonly usage: TokenCounts }
  | { readonly type: 'finish'; readonly reason: 'end' | 'length'; readonly usage: TokenCounts }
  /** `stopReason` is set if the answer arrived but cannot be used. Otherwise the call itself failed. */
  | { readonly type: 'failure'; readonly error: RunError; readonly stopReason?: 'INVALID_LLM_RESPONSE' }
