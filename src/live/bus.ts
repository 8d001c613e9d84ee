/**
 * Carries short texts between processes. Anything that is sent may be lost, and the users of the bus ask again. Every
 * process has an address of its own. A packet without an address goes to all processes, and possibly to its sender.
 */
export interface Bus {
  readonly address: string
  /** A payload must be shorter than this, in bytes of UTF-8. */
  readonly payloadLimit: number
  /** Resolves after the first attempt to connect. From then on the bus keeps reconnecting by itself. */
  open(receiver: BusReceiver): Promise<void>
  /** No two payloads may be equal. Rejects if the packets are known to be lost. */
  send(packets: readonly Packet[]): Promise<void>
  close(): Promise<void>
}

export interface Packet {
  /** The address of a process. Undefined: all processes. */
  readonly to: string | undefined
  readonly payload: string
}

export interface BusReceiver {
  receive(payload: string): void
  /** The bus is connected, for the first time or again: packets that were sent before may have been lost. */
  connected(): void
}
