/** Whether events arrive: CONNECTING before the first, RECONNECTING while a lost connection is tried again. */
export type ConnectionStatus = 'CONNECTING' | 'CONNECTED' | 'RECONNECTING'

export interface ConnectionState {
  readonly status: ConnectionStatus
  /** How often a lost connection has come back. What was read before may be too old then, and what failed may succeed. */
  readonly returns: number
  /** Calls the listener after each change. Returns a function that ends this. */
  onChange(listener: () => void): () => void
  opened(): void
  lost(): void
}

export function createConnectionState(): ConnectionState {
  const listeners = new Set<() => void>()
  let status: ConnectionStatus = 'CONNECTING'
  let returns = 0
  function change(next: ConnectionStatus): void {
    if (status === next) return
    if (status === 'RECONNECTING') returns++
    status = next
    for (const listener of [...listeners]) listener()
  }
  return {
    get status() {
      return status
    },
    get returns() {
      return returns
    },
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    opened: () => change('CONNECTED'),
    lost: () => change('RECONNECTING'),
  }
}
