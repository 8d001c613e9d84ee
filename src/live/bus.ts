/**
 * Carries short texts between processes. It promises nothing: what is sent may be lost, and its users ask again. Every
 * process has an address of its own; what is sent to nobody in particular goes to all, the sender perhaps included.
 */
export interface Bus {
  readonly address: string
  /** A payload must be shorter than this, in bytes of UTF-8. */
  readonly payloadLimit: number
  /** Resolves when the first attempt to connect was made; from then on it keeps trying by itself. */
  open(receiver: BusReceiver): Promise<void>
  /** No two payloads may be the same. Rejects where it is known that they were lost. */
  send(packets: readonly Packet[]): Promise<void>
  close(): Promise<void>
}

export interface Packet {
  /** An address; undefined: everyone. */
  readonly to: string | undefined
  readonly payload: string
}

export interface BusReceiver {
  receive(payload: string): void
  /** Connected, for the first time or again: whatever was sent before may have been missed. */
  connected(): void
}
