import { useMemo } from 'react'

import { useClient } from '../../react/client-context.ts'
import { newKey } from '../../react/new-key.ts'
import { ConversationTurns, EditMessage, Regenerate, SelectBranch } from './documents.ts'
import type { Turn, Turns } from './turns.ts'
import { Refused } from './use-action.ts'
import { useQuery } from './use-query.ts'

/** The turns of a conversation with their versions. `revision` changes when they may have changed. */
export function useConversationTurns(
  conversationId: string,
  { revision, isActive }: { readonly revision: string | undefined; readonly isActive: boolean },
): { readonly turns: Turns; readonly isArchived: boolean; refetch(): Promise<void> } {
  const client = useClient()
  const { data, refetch } = useQuery(
    ConversationTurns,
    revision === undefined ? null : { id: conversationId },
    revision,
  )
  const turns = useMemo((): Turns => {
    const byRun = new Map<string, Turn>(data?.conversation?.runs.nodes.map((turn) => [turn.id, turn]))
    return {
      turnOf: (runId) => (runId === null ? undefined : byRun.get(runId)),
      isActive,
      async edit(messageId, text) {
        const input = { messageId, message: { text }, idempotencyKey: newKey() }
        const { editMessage } = await client.request(EditMessage, { input })
        if ('message' in editMessage!) throw new Refused(editMessage.message)
      },
      async regenerate(runId) {
        const { regenerate } = await client.request(Regenerate, { input: { runId, idempotencyKey: newKey() } })
        if ('message' in regenerate!) throw new Refused(regenerate.message)
      },
      async select(runId) {
        const { selectBranch } = await client.request(SelectBranch, { input: { runId } })
        if ('message' in selectBranch!) throw new Refused(selectBranch.message)
      },
    }
  }, [client, data, isActive])
  return { turns, isArchived: data?.conversation?.archivedAt != null, refetch }
}
