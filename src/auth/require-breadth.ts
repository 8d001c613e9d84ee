import { HoldpointError } from '../domain/errors.ts'
import type { Reach } from '../domain/access/viewer.ts'
import type { Breadth } from './scopes.ts'

/** Throws FORBIDDEN if the viewer is limited to less. `what` is the subject of the sentence: 'Approving …'. */
export function requireBreadth(reach: Reach, breadth: Breadth, what: string): void {
  if (breadth !== 'conversation' && reach.allowedConversationIds) throw forbidden(what, 'conversations')
  if (breadth === 'tenant' && reach.allowedAgentIds) throw forbidden(what, 'agents')
}

function forbidden(what: string, limit: 'agents' | 'conversations'): HoldpointError {
  return new HoldpointError(
    'FORBIDDEN',
    `${what} is not possible with this token, which is limited to certain ${limit}.`,
  )
}
