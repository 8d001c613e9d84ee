import type { Socket } from 'node:net'

import type { WebSocket } from 'ws'

/** So much may wait in this process for a socket before its streams do. */
const waitingBytes = 64 * 1024
/** What follows so soon upon another message leaves together with what else comes in that time. */
const gatherMs = 1

/** Where the streams of one socket are written. */
export interface Outlet {
  /** Something to wait for where the socket does not keep up, so that a slow reader slows its own streams. */
  write(text: string): Promise<void> | undefined
  /** False: nothing that is written arrives. */
  readonly open: boolean
}

/** Each message by itself is a call of the system: a socket with many of them makes fewer, the first is never held. */
export function createOutlet(socket: WebSocket, connection: Socket): Outlet {
  let wroteAt = 0
  let gathering = false

  function flush(): void {
    if (!gathering) return
    gathering = false
    connection.uncork()
  }

  function gather(): void {
    const now = performance.now()
    if (!gathering && now - wroteAt < gatherMs) {
      gathering = true
      connection.cork()
      setTimeout(flush, gatherMs)
    }
    wroteAt = now
  }

  return {
    get open() {
      return socket.readyState === socket.OPEN
    },
    write(text) {
      if (socket.bufferedAmount < waitingBytes) {
        gather()
        return void socket.send(text)
      }
      return new Promise((resolve, reject) => {
        socket.send(text, (error) => (error ? reject(error) : resolve()))
        flush()
      })
    },
  }
}
