export {
  createClient,
  HoldpointError,
  type Client,
  type ClientOptions,
  type Sink,
  type SocketClient,
} from './client.ts'
export type { ConnectionState, ConnectionStatus } from './connection-state.ts'
export * from './documents.ts'
export { followConversation, type ConversationFollower, type FollowConversationOptions } from './follow-conversation.ts'
export { followRun, type Follower, type FollowOptions, type FollowRunOptions } from './follow-run.ts'
export { followInbox, type FollowInboxOptions, type InboxFollower, type InboxState } from './inbox.ts'
export { keepSubscribed, type KeepSubscribedOptions } from './keep-subscribed.ts'
export type { LiveItem } from './live-steps.ts'
export type * from './schema-types.ts'
export {
  createTranscript,
  isCallOver,
  isRunOver,
  type BranchChangedEvent,
  type QueueChangedEvent,
  type Transcript,
  type TranscriptEntry,
  type TranscriptEvent,
  type TranscriptRun,
  type TranscriptSnapshot,
  type TranscriptState,
} from './transcript.ts'
export type { TypedDocument } from './typed-document.ts'
