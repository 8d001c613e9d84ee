import type { Client } from './client.ts'
import { ConversationOlder, ConversationSnapshot, type ConversationSnapshotData } from './documents.ts'
import { createTranscript, type Transcript } from './transcript.ts'

export interface LoadOptions {
  /** Load what is before this cursor instead of the newest messages. */
  readonly before?: string | undefined
  readonly pageSize?: number | undefined
  /** Whether to load another page. */
  readonly needsMore: (transcript: Transcript) => boolean
}

/** Messages of a conversation as they are now, and the cursor of the page before them. Undefined if they are all. */
export async function loadTranscript(
  client: Client,
  id: string,
  { before, pageSize: last = 30, needsMore }: LoadOptions,
): Promise<{ readonly transcript: Transcript; readonly before: string | undefined }> {
  const transcript = createTranscript()
  let cursor = before
  do {
    const { conversation } =
      cursor === undefined
        ? await client.request(ConversationSnapshot, { id, last })
        : await client.request(ConversationOlder, { id, last, before: cursor })
    if (!conversation) throw new Error(`There is no conversation ${id}.`)
    const { nodes: messages, pageInfo } = conversation.messages
    if (cursor === undefined) {
      const { latestRun: run, queue } = conversation as NonNullable<ConversationSnapshotData['conversation']>
      transcript.load({ messages, runs: run ? [run] : [], queue })
    } else transcript.addMessages(messages)
    cursor = (pageInfo.hasPreviousPage && pageInfo.startCursor) || undefined
  } while (cursor !== undefined && needsMore(transcript))
  return { transcript, before: cursor }
}
