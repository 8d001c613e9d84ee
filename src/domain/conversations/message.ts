import type { Json } from '../../util/json.ts'
import type { Actor } from '../access/actor.ts'
import type { ContentPart } from './content.ts'
import type { ToolCall } from '../tools/tool-call.ts'

export type MessageRole = 'USER' | 'SYSTEM'

/** A message from a client. */
export interface GivenMessage {
  readonly role: MessageRole
  readonly content: readonly ContentPart[]
  readonly clientId: string | null
  /** Who sent it, if not the actor that started the run. */
  readonly sentBy?: Actor
}

export function contentsOf({ content, sentBy }: GivenMessage): MessageContents['USER'] {
  return { content, ...(sentBy && { sentBy }) }
}

interface MessageBase {
  readonly id: string
  readonly conversationId: string
  readonly position: number
  readonly runId: string
  readonly stepIndex: number | null
  readonly clientId: string | null
  readonly excluded: boolean
  readonly createdAt: Date
}

/** What a provider needs to accept its own reasoning again: signatures, encrypted items. Opaque to everyone else. */
export interface ProviderData {
  readonly model: string
  readonly data: Json
}

/** The stored `content` of each type. The calls and returns of a step are stored only in `tool_calls`. */
export interface MessageContents {
  readonly SYSTEM: { readonly content: readonly ContentPart[] }
  /** `sentBy` is set only if it is not the actor that started the run. */
  readonly USER: { readonly content: readonly ContentPart[]; readonly sentBy?: Actor }
  readonly REASONING: { readonly text: string; readonly redacted: boolean; readonly provider: ProviderData | null }
  readonly ASSISTANT: { readonly text: string; readonly interrupted: boolean; readonly provider: ProviderData | null }
  readonly TOOL_CALL: Readonly<Record<string, never>>
  readonly TOOL_RETURN: Readonly<Record<string, never>>
  readonly APPROVAL_REQUEST: Readonly<Record<string, never>>
  readonly APPROVAL_RESPONSE: Readonly<Record<string, never>>
  /** `contextFrom` is the position of the first message that stays in the context after the summary. */
  readonly SUMMARY: { readonly text: string; readonly contextFrom: number }
}

export type MessageType = keyof MessageContents

export type Message = {
  [Type in MessageType]: MessageBase & { readonly type: Type; readonly content: MessageContents[Type] }
}[MessageType]

/** A message without its content, which lists omit because it can be large. */
export type MessageOutline = MessageBase & { readonly type: MessageType }

/** A message that is not stored yet. Storing it gives it a position. */
export type NewMessage = {
  [Type in MessageType]: {
    readonly id: string
    readonly type: Type
    readonly stepIndex: number | null
    readonly clientId: string | null
    readonly content: MessageContents[Type]
  }
}[MessageType]

/**
 * The calls of a step that a message carries. They are not stored with the message: what a call needs decides which
 * message carries it.
 */
export function callsOfMessage<Call extends Pick<ToolCall, 'needs' | 'decision'>>(
  type: MessageType,
  callsOfStep: readonly Call[],
): readonly Call[] {
  switch (type) {
    case 'TOOL_CALL':
      return callsOfStep.filter((call) => call.needs === 'NOTHING')
    case 'APPROVAL_REQUEST':
      return callsOfStep.filter((call) => call.needs !== 'NOTHING')
    case 'APPROVAL_RESPONSE':
      return callsOfStep.filter((call) => call.decision !== null)
    case 'TOOL_RETURN':
      return callsOfStep
    default:
      return []
  }
}
