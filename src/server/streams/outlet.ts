import type { Socket } from 'node:net'

import type { WebSocket } from 'ws'

/** How many bytes may be buffered for a socket before its streams have to wait. */
const waitingBytes = 64 * 1024
/** Messages to the same socket within this time are sent together. */
const gatherMs = 1

/** Where the streams of one socket write. */
export interface Outlet {
  /**
   * Returns a promise to wait for if the socket does not keep up, so that a slow reader delays only its own streams.
   */
  write(text: string): Promise<void> | undefined
  /** False once nothing written can arrive any more. */
  readonly open: boolean
}

/**
 * Corks connections until the scheduled flush and then uncorks all of them in a row, so that each connection takes one
 * system call, however many messages were written to it.
 */
function createGathering(schedule: (flush: () => void) => unknown): (connection: Socket) => void {
  let gathered: Socket[] = []
  return (connection) => {
    connection.cork()
    if (gathered.push(connection) > 1) return
    schedule(() => {
      const connections = gathered
      gathered = []
      for (const held of connections) held.uncork()
    })
  }
}

/** Uncorks in a microtask, after every reader of the same event has written. */
const withOthers = createGathering(queueMicrotask)
/** Uncorks after `gatherMs`. */
const withWhatFollows = createGathering((flush) => setTimeout(flush, gatherMs))

export function createOutlet(socket: WebSocket, connection: Socket): Outlet {
  let wroteAt = 0

  function gather(): void {
    const now = performance.now()
    if (connection.writableCorked === 0) (now - wroteAt < gatherMs ? withWhatFollows : withOthers)(connection)
    wroteAt = now
  }

  return {
    get open() {
      return socket.readyState === socket.OPEN
    },
    write(text) {
      if (socket.bufferedAmount < waitingBytes) {
        gather()
        socket.send(text)
        return undefined
      }
      return send(socket, text)
    },
  }
}

/**
 * Resolves once the data has been sent, so that a slow reader slows down only its own streams, and at once if the
 * socket is closed. It never rejects: a client that has left is not an error, and the socket's `close` event does the
 * rest.
 */
export function send(socket: WebSocket, data: string): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readyState !== socket.OPEN) return resolve()
    socket.send(data, () => resolve())
  })
}
