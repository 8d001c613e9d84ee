/**
 * Carries short texts between processes. Anything sent may be lost, so users of the bus ask again. Every process has
 * its own address. A packet without an address goes to all processes, possibly including its sender.
 */
export interface Bus {
  readonly address: string
  /** A payload must be shorter than this many bytes of UTF-8. */
  readonly payloadLimit: number
  /** False while nothing can be received from other processes. */
  isConnected(): boolean
  /** Resolves after the first attempt to connect. From then on, the bus reconnects by itself. */
  open(receiver: BusReceiver): Promise<void>
  /** No two payloads may be equal. Rejects if the packets are known to be lost. */
  send(packets: readonly Packet[]): Promise<void>
  close(): Promise<void>
}

export interface Packet {
  /** The address of one process, or undefined for all processes. */
  readonly to: string | undefined
  readonly payload: string
}

export interface BusReceiver {
  receive(payload: string): void
  /** The bus has connected or reconnected. Packets that were sent before may have been lost. */
  connected(): void
}
