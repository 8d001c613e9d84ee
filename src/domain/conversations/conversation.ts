import type { JsonObject } from '../../util/json.ts'
import { notFound, type HoldpointError } from '../errors.ts'
import { encodeId } from '../ids.ts'

export interface Conversation {
  readonly id: string
  readonly tenantId: string
  readonly agentId: string
  readonly isMain: boolean
  readonly title: string | null
  readonly metadata: JsonObject
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly archivedAt: Date | null
  readonly nextRunNumber: number
  readonly nextPosition: number
  readonly contextFrom: number
  readonly summaryPosition: number | null
  readonly activeRunId: string | null
  /** The conversation that a sleeptime agent works for in this one. Null for all other conversations. */
  readonly forConversation: string | null
}

/** Where a message goes, or what is cancelled. Naming an agent means its main conversation. */
export type Target = { readonly agentId: string } | { readonly conversationId: string }

export function targetNotFound(target: Target): HoldpointError {
  return 'agentId' in target
    ? notFound('agent', encodeId('Agent', target.agentId))
    : notFound('conversation', encodeId('Conversation', target.conversationId))
}
