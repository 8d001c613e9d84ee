import type { Bus, BusReceiver } from '../../src/live/bus.ts'
import { unpackMessages, type RelayMessage } from '../../src/live/relay-messages.ts'

/** A network of buses in one process, which loses the messages that a test chooses. */
export interface MemoryNetwork {
  /** A bus with an address of its own. */
  createBus(): Bus
  /** Decides whether a message is lost. Can be set at any time. */
  isLost: (message: RelayMessage) => boolean
}

export function createMemoryNetwork(): MemoryNetwork {
  const receivers = new Map<string, BusReceiver>()
  const network: MemoryNetwork = { createBus, isLost: () => false }

  function createBus(): Bus {
    const address = `process ${receivers.size + 1}`
    return {
      address,
      payloadLimit: 8_000,
      isConnected: () => receivers.has(address),
      async open(receiver) {
        receivers.set(address, receiver)
        receiver.connected()
      },
      async send(packets) {
        for (const { to, payload } of packets) {
          const messages = unpackMessages(payload)!.filter((message) => !network.isLost(message))
          const left = payload.slice(0, payload.indexOf('[')) + JSON.stringify(messages)
          for (const [other, receiver] of receivers) if (to === undefined || to === other) receiver.receive(left)
        }
      },
      async close() {
        receivers.delete(address)
      },
    }
  }
  return network
}
