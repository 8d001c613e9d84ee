import { apiScopes, type Viewer } from '../../src/domain/access/viewer.ts'

/** A key with every scope and no limit. */
export function viewerOf(tenantId: string, { id = 'key_test', name = 'test' } = {}): Viewer {
  return {
    tenantId,
    actor: { kind: 'KEY', id, name },
    scopes: apiScopes,
    allowedAgentIds: null,
    allowedConversationIds: null,
    expiresAt: null,
    keyId: id,
  }
}
