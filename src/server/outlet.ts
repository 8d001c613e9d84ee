import type { Socket } from 'node:net'

import type { WebSocket } from 'ws'

/** So much may wait in this process for a socket before its streams do. */
const waitingBytes = 64 * 1024
/** What follows so soon upon another message of its socket leaves together with what else comes in that time. */
const gatherMs = 1

/** Where the streams of one socket are written. */
export interface Outlet {
  /** Something to wait for where the socket does not keep up, so that a slow reader slows its own streams. */
  write(text: string): Promise<void> | undefined
  /** False: nothing that is written arrives. */
  readonly open: boolean
}

/**
 * Holds back what is written to a connection until `schedule` comes round, for all connections at once: one call of
 * the system for each of them, in one go, while those who listen at the other ends are awake.
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

/** Until all have written who are waiting to write now, the readers of the same event: nothing else comes before it. */
const withOthers = createGathering(queueMicrotask)
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
 * Resolves once the data has left, so that a slow reader slows its own streams, and at once if the socket is closed. It
 * never rejects: a client that has left is no fault, and the socket's `close` event tells the rest.
 */
export function send(socket: WebSocket, data: string): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readyState !== socket.OPEN) return resolve()
    socket.send(data, () => resolve())
  })
}
