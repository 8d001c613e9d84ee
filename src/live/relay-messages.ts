import type { RunNews } from '../domain/run-news.ts'
import type { Patch } from './replica.ts'

/** What processes say to each other. */
export type RelayMessage =
  /** I listen from now on. Whoever does too answers. */
  | { readonly type: 'hello' }
  | { readonly type: 'here' }
  | { readonly type: 'bye' }
  /** I follow this run and have its text so far: send me what comes, and what I lack. */
  | {
      readonly type: 'follow'
      readonly run: string
      readonly seq: number
      readonly item: number
      readonly offset: number
    }
  /** I want the news of this conversation or tenant. */
  | { readonly type: 'watch'; readonly topic: string }
  | { readonly type: 'text'; readonly run: string; readonly patch: Patch }
  /** Something of this run was stored; up to `seq`, unless that is 0. */
  | { readonly type: 'stored'; readonly run: string; readonly seq: number }
  | { readonly type: 'news'; readonly news: RunNews }
  | { readonly type: 'stop'; readonly run: string }

/**
 * As few payloads as will hold the messages, in order. Each begins with who sends it and a number, so no two are the
 * same. A message that is too long for any payload is left out: it is the sender's to make them short.
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
      begun = `${JSON.stringify(from)} ${nextNumber()} [${text}`
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

/** Who sent a payload; undefined where it is none of ours. */
export function senderOf(payload: string): string | undefined {
  return /^"([^"]+)" \d+ \[/.exec(payload)?.[1]
}

/** Undefined where it is none of ours, such as one of another version. */
export function unpackMessages(payload: string): readonly RelayMessage[] | undefined {
  try {
    return JSON.parse(payload.slice(payload.indexOf('['))) as RelayMessage[]
  } catch {
    return undefined
  }
}
