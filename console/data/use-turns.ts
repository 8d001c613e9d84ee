import { useMemo, useRef } from 'react'

import { EditMessage, Regenerate, type ContentFields } from '../../client/documents.ts'
import type { ContentPartInput } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { newKey } from '../../client/new-key.ts'
import { ConversationList, ConversationTurns, ForkConversation, SelectBranch } from './documents.ts'
import type { Turn, Turns } from './turns.ts'
import { Refused } from './use-action.ts'
import { refresh, useQuery } from './use-query.ts'

/** The turns of a conversation with their versions. `revision` changes when they may have changed. */
export function useConversationTurns(
  conversationId: string,
  { revision, isActive }: { readonly revision: string | undefined; readonly isActive: boolean },
): { readonly turns: Turns; readonly isArchived: boolean; refetch(): Promise<void> } {
  const client = useClient()
  const pagingTo: Turns['pagingTo'] = useRef(undefined)
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
      pagingTo,
      async edit(messageId, text, kept) {
        const message = kept.length > 0 ? { content: [{ text }, ...kept.map(partOf)] } : { text }
        const input = { messageId, message, idempotencyKey: newKey() }
        const { editMessage } = await client.request(EditMessage, { input })
        if ('message' in editMessage!) throw new Refused(editMessage.message)
      },
      async regenerate(runId) {
        const { regenerate } = await client.request(Regenerate, { input: { runId, idempotencyKey: newKey() } })
        if ('message' in regenerate!) throw new Refused(regenerate.message)
      },
      async select(runId, by) {
        // Before it is asked for: the version may be shown before the answer arrives.
        pagingTo.current = { runId, by }
        const { selectBranch } = await client.request(SelectBranch, { input: { runId } })
        if (!('message' in selectBranch!)) return
        pagingTo.current = undefined
        throw new Refused(selectBranch.message)
      },
      async fork(messageId) {
        const { forkConversation } = await client.request(ForkConversation, { input: { messageId } })
        if ('message' in forkConversation!) throw new Refused(forkConversation.message)
        refresh(client, ConversationList)
        return forkConversation!.conversation.id
      },
    }
  }, [client, data, isActive])
  return { turns, isArchived: data?.conversation?.archivedAt != null, refetch }
}

/** A part of a message as it is sent again with an edited text. */
function partOf({ file, imageUrl, documentUrl, text }: ContentFields): ContentPartInput {
  if (file) return { fileId: file.id }
  if (imageUrl !== null) return { imageUrl }
  return documentUrl !== null ? { documentUrl } : { text: text! }
}
