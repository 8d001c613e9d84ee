/** What a run of the benchmark's model does. Its message contains this. */
export interface Work {
  readonly id: string
  readonly chunks: number
  /** 0 means as fast as possible. */
  readonly everyMs: number
  readonly offsetMs: number
  /** Every second chunk goes through the bare relay instead. */
  readonly relayed: boolean
}

export type ToServer =
  | { readonly type: 'go'; readonly id: string }
  | { readonly type: 'broadcast'; readonly frames: readonly string[] }
  | { readonly type: 'memory' }
  | { readonly type: 'stop' }

export type FromServer =
  | { readonly type: 'ready'; readonly url: string; readonly relayUrl: string }
  | { readonly type: 'waiting'; readonly id: string }
  | { readonly type: 'memory'; readonly bytes: number }

/** When a chunk left the model, in microseconds of a clock that all processes on a machine share. */
export function stamp(): string {
  return `${String(process.hrtime.bigint() / 1_000n).padStart(16, '0')} `
}

/** The age of the chunks of a text, in milliseconds. */
export function agesOf(text: string): number[] {
  const now = Number(process.hrtime.bigint() / 1_000n)
  return text
    .trimEnd()
    .split(' ')
    .map((time) => (now - Number(time)) / 1_000)
}

/** A chunk as a bare relay sends it: the frame that a client of the real server gets, prepared in advance. */
export function bareFrame(text: string): string {
  return `{"id":"1","type":"next","payload":{"data":{"runEvents":{"__typename":"TextDelta","cursor":"c1.0123456789abcdef0123456789abcdef.4.0.1234","messageId":"msg_0123456789abcdef0123456789abcdef","offset":1234,"text":"${text}"}}}}`
}
