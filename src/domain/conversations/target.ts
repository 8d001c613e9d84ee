import { notFound, type HoldpointError } from '../errors.ts'
import { encodeId } from '../ids.ts'

/** Where a message goes, or what is cancelled. Naming an agent means its main conversation. */
export type Target = { readonly agentId: string } | { readonly conversationId: string }

export function targetNotFound(target: Target): HoldpointError {
  return 'agentId' in target
    ? notFound('agent', encodeId('Agent', target.agentId))
    : notFound('conversation', encodeId('Conversation', target.conversationId))
}
