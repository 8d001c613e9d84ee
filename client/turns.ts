import type { Client } from './client.ts'
import {
  CancelRun,
  CreateConversation,
  EditMessage,
  FindConversation,
  Regenerate,
  SendMessage,
  SentMessages,
  UploadFile,
  WhoAmI,
} from './documents.ts'
import type { ContentPartInput, NewMessageInput, RunStatus, SendMessageInput } from './schema-types.ts'

/** How pages with ids of their own start conversations and turns. */
export interface TurnOptions {
  /**
   * The agent to talk to. Ids that are not ids of conversations (`conv_…`) then name conversations with this agent,
   * which are created when they are needed. Each actor has conversations of its own.
   */
  readonly agentId?: string
  /**
   * What a new message does while a run is active. REJECT, the default, is an error that says so. ENQUEUE waits until
   * the run has ended. INTERRUPT cancels the run, and denies the calls that it waits for.
   */
  readonly whenBusy?: SendMessageInput['whenBusy']
}

/** The conversation of a page's own id. The same id of the same actor is the same conversation. */
export async function conversationOf(client: Client, id: string, { agentId }: TurnOptions): Promise<string> {
  if (agentId === undefined || id.startsWith('conv_')) return id
  const { viewer } = await client.request(WhoAmI, {})
  const metadata = { chatId: id, chatOf: `${viewer.actor.kind} ${viewer.actor.id}` }
  const { conversations } = await client.request(FindConversation, { agentId, metadata })
  const known = conversations.nodes.at(0)
  if (known) return known.id
  // Two pages that are opened at the same time use the same key.
  const idempotencyKey = `chat ${agentId} ${id}`.slice(-200)
  const { createConversation } = await client.request(CreateConversation, {
    input: { agentId, metadata, idempotencyKey },
  })
  return createConversation!.conversation.id
}

/** A message that was sent, on the current branch. */
export interface SentMessage {
  readonly id: string
  /** The id that the page knows. */
  readonly shownId: string
  readonly text: string
  readonly isFromUser: boolean
  readonly run: { readonly id: string; readonly status: RunStatus }
  readonly isOwn: boolean
}

/** The newest 200 messages that were sent on the current branch, oldest first, and the latest run. */
export async function listSent(
  client: Client,
  conversationId: string,
): Promise<{ readonly sent: readonly SentMessage[]; readonly latestRunId: string | undefined }> {
  const { viewer, conversation } = await client.request(SentMessages, { id: conversationId })
  if (!conversation) throw new Error(`There is no conversation ${conversationId}.`)
  const sent = conversation.messages.nodes.flatMap((message): SentMessage[] => {
    if (!('text' in message) || !message.run) return []
    const { id, clientId, text, run } = message
    const sender = 'sentBy' in message ? message.sentBy : viewer.actor
    const isOwn = sender?.id === viewer.actor.id && sender.kind === viewer.actor.kind
    return [{ id, shownId: clientId ?? id, text, isFromUser: message.__typename === 'UserMessage', run, isOwn }]
  })
  return { sent, latestRunId: conversation.latestRun?.id }
}

/** Sends messages, or makes another version of a turn, which becomes the current branch. Throws the refusal. */
export type Turn =
  | ({ readonly kind: 'send' } & Pick<SendMessageInput, 'messages' | 'clientTools' | 'idempotencyKey' | 'metadata'>)
  | { readonly kind: 'edit'; readonly messageId: string; readonly message: NewMessageInput }
  | { readonly kind: 'regenerate'; readonly runId: string }

/** Returns the id of the run that answers. */
export async function startTurn(
  client: Client,
  conversationId: string,
  turn: Turn,
  { whenBusy }: TurnOptions,
): Promise<string> {
  if (turn.kind === 'send') {
    const { kind: _kind, ...input } = turn
    const to = { conversationId }
    const { sendMessage } = await client.request(SendMessage, { input: { ...input, to, whenBusy } })
    if (sendMessage?.__typename !== 'SendMessageSuccess') throw refused(sendMessage)
    return sendMessage.run.id
  }
  // These mutations have no `whenBusy`. Without an active run, cancelling is refused, which is fine.
  if (whenBusy === 'INTERRUPT') await client.request(CancelRun, { input: { conversationId } })
  if (turn.kind === 'regenerate') {
    const { regenerate } = await client.request(Regenerate, { input: { runId: turn.runId } })
    if (regenerate?.__typename !== 'RegenerateSuccess') throw refused(regenerate)
    return regenerate.run.id
  }
  const { editMessage } = await client.request(EditMessage, {
    input: { messageId: turn.messageId, message: turn.message },
  })
  if (editMessage?.__typename !== 'EditMessageSuccess') throw refused(editMessage)
  return editMessage.run.id
}

/** A file of a message: a data URL with a name is stored under that name. Other addresses stay what they are. */
export async function filePart(
  client: Client,
  conversationId: string,
  { url, mediaType, name }: { readonly url: string; readonly mediaType: string; readonly name: string | undefined },
): Promise<ContentPartInput> {
  if (!name || !url.startsWith('data:'))
    return mediaType.startsWith('image/') ? { imageUrl: url } : { documentUrl: url }
  const { uploadFile } = await client.request(UploadFile, {
    input: { conversationId, dataUrl: url, name: name.slice(-200) },
  })
  return { fileId: uploadFile!.file.id }
}

function refused(result: { readonly message?: string } | null | undefined): Error {
  return new Error(result?.message ?? 'The server sent no answer.')
}
