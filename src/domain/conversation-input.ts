import type { Json, JsonObject } from '../util/json.ts'
import { checkedObject, checkedText, merged, type Given } from './input.ts'

export interface ConversationInput {
  readonly title?: Given<string>
  readonly metadata?: Given<Json>
}

/** Undefined leaves it unchanged. */
export interface ConversationChanges {
  readonly title: string | null | undefined
  readonly metadata: JsonObject | undefined
}

export function checkedConversation(input: ConversationInput): ConversationChanges {
  return {
    title: merged<string, string | null | undefined>(input.title, {
      current: undefined,
      cleared: null,
      check: (title) => checkedText('input.title', title, { max: 500 }),
    }),
    metadata: merged<Json, JsonObject | undefined>(input.metadata, {
      current: undefined,
      cleared: {},
      check: (metadata) => checkedObject('input.metadata', metadata),
    }),
  }
}
