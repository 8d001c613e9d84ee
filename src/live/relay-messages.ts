import type { RunNews } from '../domain/runs/run-news.ts'
import type { ToolCallProgress } from '../domain/tools/tool-call.ts'
import type { Patch } from './step-copy.ts'

/**
 * The protocol between processes. There is no order between messages, and any message may be lost or repeated. A reader
 * states what it wants and what it has, and states it again until the answer comes.
 *
 * Presence
 * - `hello` to all: sent when the bus is connected. Every process that hears it answers with `here`.
 * - `here`: to one process as an answer to `hello`, and to all every 5 s while other processes are known.
 * - `bye` to all: sent before stopping. The sender is forgotten, with everything that it wanted.
 * - Any message shows that its sender lives. A process that has been silent for 15 s is forgotten.
 * - A process that knows of no other sends nothing but `hello`.
 *
 * Following a run
 * - `follow` to all: "I have readers of this run, and of the live step `seq` I have everything before `item` and
 *   `offset` in it." A process that has no text sends `seq` 0. It is sent when the run gets its first reader, when a
 *   new process shows up, when a patch does not fit, and after a silence: 200 ms at first, then twice as long each
 *   time, up to 5 s. Whoever drives the run itself does not send it.
 * - `text` to each process that follows: the next piece of the live step that the sender writes. The sender remembers
 *   how far it has sent; `follow` sets that back. A receiver ignores patches of a step older than the one it has.
 * - `stored` to each process that follows: entries were stored up to `seq`; 0 means that it is unknown which.
 *
 * News
 * - `watch` to all: "I have watchers of this conversation or tenant." It is repeated every 5 s.
 * - `news` to each process that watches the run's conversation or its tenant.
 *
 * Stop requests
 * - `stop` to all: a cancel of this run was stored. The process that drives the run stops it; the others ignore it.
 *
 * Progress of calls
 * - `progress` to all: what a running call last reported, or null once it has ended.
 *
 * `follow` and `watch` hold for 15 s after they were last sent. Nothing depends on `stored`, `news` and `stop`
 * arriving: the poll and the sweep find what was lost.
 */
export type RelayMessage =
  | { readonly type: 'hello' }
  | { readonly type: 'here' }
  | { readonly type: 'bye' }
  | {
      readonly type: 'follow'
      readonly run: string
      readonly seq: number
      readonly item: number
      readonly offset: number
    }
  | { readonly type: 'text'; readonly run: string; readonly patch: Patch }
  | { readonly type: 'stored'; readonly run: string; readonly seq: number }
  | { readonly type: 'watch'; readonly topic: string }
  | { readonly type: 'news'; readonly news: RunNews }
  | { readonly type: 'stop'; readonly run: string }
  | {
      readonly type: 'progress'
      readonly run: string
      readonly call: string
      readonly progress: ToolCallProgress | null
    }

/**
 * Changes if a process of the version before would misunderstand a message. Processes of different versions then ignore
 * each other here: the poll and the sweep find what they did not say. A new kind of message needs no new version,
 * because messages of an unknown kind are ignored.
 */
const protocolVersion = 1

/**
 * Packs messages in order into as few payloads as possible. Each payload begins with the version, the sender's address
 * and a number, so no two are equal. A message that is too long for any payload is dropped, so senders must keep
 * messages short.
 */
export function packMessages(
  from: string,
  messages: readonly RelayMessage[],
  { payloadLimit, nextNumber }: { readonly payloadLimit: number; nextNumber(): number },
): string[] {
  const payloads: string[] = []
  let begun = ''
  let size = 0
  const end = () => {
    if (begun !== '') payloads.push(`${begun}]`)
    begun = ''
  }
  for (const message of messages) {
    const text = JSON.stringify(message)
    const bytes = Buffer.byteLength(text) + 1
    if (begun !== '' && size + bytes + 1 >= payloadLimit) end()
    if (begun === '') {
      begun = `${protocolVersion} ${JSON.stringify(from)} ${nextNumber()} [${text}`
      size = Buffer.byteLength(begun)
      if (size + 1 >= payloadLimit) begun = ''
    } else {
      begun += `,${text}`
      size += bytes
    }
  }
  end()
  return payloads
}

/** The address of a payload's sender, or undefined if the payload is not one of ours or of another version. */
export function senderOf(payload: string): string | undefined {
  const [, version, address] = /^(\d+) "([^"]+)" \d+ \[/.exec(payload) ?? []
  return Number(version) === protocolVersion ? address : undefined
}

/** The number that its sender gave a payload. */
export function numberOf(payload: string): number {
  return Number(/" (\d+) \[/.exec(payload)?.[1])
}

/** Returns undefined if the payload cannot be parsed, for example because another version sent it. */
export function unpackMessages(payload: string): readonly RelayMessage[] | undefined {
  try {
    return JSON.parse(payload.slice(payload.indexOf('['))) as RelayMessage[]
  } catch {
    return undefined
  }
}
