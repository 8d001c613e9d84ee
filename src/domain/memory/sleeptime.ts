import type { ContextMessage } from '../context/context.ts'
import type { Checkpoint } from '../runs/draft.ts'
import type { GivenMessage } from '../conversations/message.ts'
import type { LogEntry } from '../runs/run-event.ts'
import type { Reading } from '../runs/run-state.ts'
import { countTokens } from '../../util/tokens.ts'
import { transcriptWithin } from '../context/transcript.ts'

/** What a sleeptime agent has not read yet in one conversation. */
export interface UnreadConversation {
  readonly conversationId: string
  readonly title: string | null
  /** Oldest first. */
  readonly messages: readonly ContextMessage[]
  /** The number of earlier messages that are left out because there are too many. */
  readonly omitted: number
}

export function readingOf(unread: readonly UnreadConversation[]): Reading {
  const last = unread.flatMap(({ messages }) => messages.slice(-1))
  return Object.fromEntries(last.map(({ message }) => [message.conversationId, message.position]))
}

const introduction = `You work in the background for another agent, the primary agent. Below is what happened in its conversation since you last looked. It is over: nobody in it talks to you, and nobody reads what you answer.

Each entry says whose words follow, and quotes them line by line. "assistant" is the primary agent, not you; "user" is the person that it talks to.

Tend the memory that you share with it: put into your memory blocks what is worth knowing later, correct what is no longer true, and leave alone what is not worth keeping. If you have a block memory_persona, it says how to go about it.`

/** Kept even if there is no room for it. Then the run fails and says why. */
const shortestMaterial = 200

/** The only input message of a background run, with at most this many tokens. */
export function sleeptimeInput(unread: readonly UnreadConversation[], tokens: number): GivenMessage {
  const left = Math.max(shortestMaterial, tokens - countTokens(introduction))
  const each = Math.floor(left / unread.length)
  const parts = unread.map((conversation) => tellConversation(conversation, { each, alone: unread.length === 1 }))
  return { role: 'USER', content: [{ text: [introduction, ...parts].join('\n\n') }], clientId: null }
}

function tellConversation(
  { title, messages, omitted }: UnreadConversation,
  { each, alone }: { readonly each: number; readonly alone: boolean },
): string {
  const heading = alone ? 'The conversation:' : `A conversation${title ? ` titled ${JSON.stringify(title)}` : ''}:`
  const note = omitted > 0 ? [`[${omitted} earlier messages are left out]`] : []
  return [heading, ...note, transcriptWithin(messages, each)].join('\n\n')
}

/** The checkpoint that ends a run, with an entry before the final status that names the background runs of its turn. */
export function withChildren(checkpoint: Checkpoint, runIds: readonly string[]): Checkpoint {
  const children = runIds.map((runId): LogEntry => ({ type: 'child', runId }))
  const { after, entries } = checkpoint
  return {
    ...checkpoint,
    after: { ...after, nextSeq: after.nextSeq + children.length },
    entries: entries.toSpliced(-1, 0, ...children),
  }
}

/** Agents that read the foreground agent's conversations in the background. */
export interface SleeptimeGroup {
  readonly id: string
  readonly tenantId: string
  /** The foreground agent, which has at most one group. */
  readonly agentId: string
  /** In the given order. */
  readonly sleeptimeAgentIds: readonly string[]
  readonly frequency: number
  readonly turns: number
}
