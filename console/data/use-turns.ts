import { useEffect, useMemo, useRef, useState } from 'react'

import { EditMessage, Regenerate, type ContentFields } from '../../client/documents.ts'
import type { ContentPartInput } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { newKey } from '../../client/new-key.ts'
import { isRunOver, type TranscriptEntry } from '../../client/transcript.ts'
import {
  ConversationList,
  ConversationTurns,
  ForkConversation,
  OlderTurns,
  SelectBranch,
  type ConversationRow,
} from './documents.ts'
import type { Turn, Turns } from './turns.ts'
import { Refused } from './use-action.ts'
import { refresh, useQuery } from './use-query.ts'

interface ConversationTurnsOptions {
  /** Changes when they may have changed. */
  readonly revision: string | undefined
  readonly isActive: boolean
  readonly entries: readonly TranscriptEntry[]
}

/** The turns of a conversation with their versions, as far as their messages are loaded, and what lists say of it. */
export function useConversationTurns(
  conversationId: string,
  { revision, isActive, entries }: ConversationTurnsOptions,
): { readonly turns: Turns; readonly row: ConversationRow | undefined; refetch(): Promise<void> } {
  const client = useClient()
  const pagingTo: Turns['pagingTo'] = useRef(undefined)
  const { data, refetch } = useQuery(
    ConversationTurns,
    revision === undefined ? null : { id: conversationId },
    revision,
  )
  const [older, setOlder] = useState<readonly Turn[]>([])
  const newest = data?.conversation?.runs.nodes
  const byRun = useMemo(() => withVersions([...older, ...(newest ?? [])]), [older, newest])
  const missing = useMemo(
    () => newest && [...new Set(entries.flatMap(({ runId }) => (runId === null || byRun.has(runId) ? [] : runId)))],
    [byRun, newest, entries[0]?.id],
  )?.slice(0, 100)
  useEffect(() => {
    if (!missing?.length) return
    client.request(OlderTurns, { ids: missing }).then(
      ({ nodes }) => {
        const turns = nodes.filter((node) => node !== null && 'id' in node)
        setOlder((before) => [...before, ...turns.filter(({ status }) => isRunOver(status))])
      },
      () => {},
    )
  }, [client, missing?.join()])
  const turns = useMemo((): Turns => {
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
  }, [client, byRun, isActive])
  return { turns, row: data?.conversation ?? undefined, refetch }
}

/** A turn that was loaded earlier does not have the versions that were made since. They have it. */
function withVersions(turns: readonly Turn[]): Map<string, Turn> {
  const versionsOf = new Map<string, Turn['versions']>()
  for (const { versions } of turns) {
    for (const { id } of versions) if (versions.length > (versionsOf.get(id)?.length ?? 0)) versionsOf.set(id, versions)
  }
  return new Map(turns.map((turn) => [turn.id, { ...turn, versions: versionsOf.get(turn.id) ?? turn.versions }]))
}

/** A part of a message as it is sent again with an edited text. */
function partOf({ file, imageUrl, documentUrl, text }: ContentFields): ContentPartInput {
  if (file) return { fileId: file.id }
  if (imageUrl !== null) return { imageUrl }
  return documentUrl !== null ? { documentUrl } : { text: text! }
}
