import { HoldpointError } from '../domain/errors.ts'
import type { ApiScope, Viewer } from '../domain/access/viewer.ts'

/** Throws FORBIDDEN unless the viewer has one of the scopes. `what` is the subject of the sentence: 'Deciding …'. */
export function requireScope(viewer: Viewer, scopes: readonly ApiScope[], what: string): void {
  if (scopes.some((scope) => viewer.scopes.includes(scope))) return
  throw new HoldpointError(
    'FORBIDDEN',
    `${what} needs the scope ${scopes.join(' or ')}. This key has ${viewer.scopes.join(', ') || 'none'}.`,
  )
}
