import type { Json, JsonObject } from '../../util/json.ts'
import { checkedObject, checkedText, mergeFields, type GivenFields } from '../input.ts'

export type ConversationInput = GivenFields<{ readonly title: string; readonly metadata: Json }>

/** Undefined leaves it unchanged. */
export interface ConversationChanges {
  readonly title: string | null | undefined
  readonly metadata: JsonObject | undefined
}

const unchanged: ConversationChanges = { title: undefined, metadata: undefined }

export function checkedConversation(input: ConversationInput): ConversationChanges {
  return mergeFields('input', input, {
    current: unchanged,
    defaults: { title: null, metadata: {} },
    checks: { title: (field, title) => checkedText(field, title, { max: 500 }), metadata: checkedObject },
  })
}
