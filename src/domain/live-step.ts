import type { ProviderData } from './message.ts'

/** A piece of a step as the model writes it. Its id is that of the message or call it will become. */
export type LiveItem =
  | {
      readonly kind: 'ASSISTANT' | 'REASONING'
      readonly id: string
      text: string
      complete: boolean
      /** REASONING: encrypted or redacted by the provider, so there is no text. */
      redacted: boolean
      provider: ProviderData | null
    }
  | {
      readonly kind: 'CALL'
      readonly id: string
      readonly name: string
      readonly providerCallId: string
      /** The arguments so far. */
      text: string
      complete: boolean
    }

/** A step that is being written: what belongs to the StepStarted or StepRestarted entry `seq`. */
export interface LiveStep {
  readonly seq: number
  readonly stepIndex: number
  readonly items: LiveItem[]
}
