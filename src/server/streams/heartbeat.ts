import type { Socket } from 'node:net'

import type { WebSocket } from 'ws'

const pingMs = 12_000
/** How long the client may take to answer a close. */
const farewellMs = 2_000

/**
 * Closes sockets whose client is gone. A client that has read nothing for `stalledMs` gets 1013. A client that has sent
 * nothing for longer than that, not even a pong, is cut off.
 */
export function startHeartbeat(
  socket: WebSocket,
  connection: Socket,
  { stalledMs }: { readonly stalledMs: number },
): () => void {
  let heardAt = performance.now()
  let takenAt = heardAt
  let taken = 0
  const hear = () => (heardAt = performance.now())
  socket.on('pong', hear)
  socket.on('message', hear)
  const everyMs = Math.min(pingMs, stalledMs / 5)
  const timer = setInterval(() => {
    const now = performance.now()
    const sent = connection.bytesWritten - connection.writableLength
    if (connection.writableLength === 0 || sent !== taken) takenAt = now
    taken = sent
    if (now - takenAt >= stalledMs && socket.readyState === socket.OPEN) {
      socket.close(1013, 'The client read nothing for too long')
      setTimeout(() => socket.terminate(), farewellMs).unref()
    }
    if (now - heardAt > stalledMs + everyMs + farewellMs) socket.terminate()
    else if (socket.readyState === socket.OPEN) socket.ping()
  }, everyMs)
  return () => clearInterval(timer)
}
