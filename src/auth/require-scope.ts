import { HoldpointError } from '../domain/errors.ts'
import type { ApiScope, Reach, Viewer } from '../domain/access/viewer.ts'
import type { Breadth } from './scopes.ts'

/** Throws FORBIDDEN unless the viewer has one of the scopes. `what` is the subject of the sentence: 'Deciding …'. */
export function requireScope(viewer: Viewer, scopes: readonly ApiScope[], what: string): void {
  if (scopes.some((scope) => viewer.scopes.includes(scope))) return
  throw new HoldpointError(
    'FORBIDDEN',
    `${what} needs the scope ${scopes.join(' or ')}. This key has ${viewer.scopes.join(', ') || 'none'}.`,
  )
}

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
