import type { Socket } from 'node:net'

import type { WebSocket } from 'ws'

const pingMs = 12_000
/** How long a socket that is closed may take to read why. */
const farewellMs = 2_000

/**
 * Sees to it that a socket whose peer is gone does not stay. One that has taken nothing of what it was sent for
 * `stalledMs` is closed with 1013; one that has neither sent nor answered a ping for longer than that is cut.
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
      socket.close(1013, 'Nothing was read for too long')
      setTimeout(() => socket.terminate(), farewellMs).unref()
    }
    if (now - heardAt > stalledMs + everyMs + farewellMs) socket.terminate()
    else if (socket.readyState === socket.OPEN) socket.ping()
  }, everyMs)
  return () => clearInterval(timer)
}
