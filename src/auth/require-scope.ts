import { HoldpointError } from '../domain/errors.ts'
import type { ApiScope, Viewer } from '../domain/viewer.ts'

/** FORBIDDEN unless the key has one of the scopes. `what` as a sentence says it: 'Deciding …'. */
export function requireScope(viewer: Viewer, scopes: readonly ApiScope[], what: string): void {
  if (scopes.some((scope) => viewer.scopes.includes(scope))) return
  throw new HoldpointError(
    'FORBIDDEN',
    `${what} takes a key with the scope ${scopes.join(' or ')}; this one has ${viewer.scopes.join(', ') || 'none'}.`,
  )
}
