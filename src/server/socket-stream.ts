import type { ExecutionResult } from 'graphql'
import type { WebSocket } from 'ws'

import type { SharedStream } from './shared-execution.ts'

/** So much may wait in this process for a socket before its streams do. */
const waitingBytes = 16 * 1024

/**
 * A subscription for graphql-ws that sends its results itself, as text that others may share: the library would take
 * each result apart, check it and write it as JSON once more for every subscriber. It yields nothing and ends when the
 * stream does, and the library then says `complete`.
 */
export function sendResults(
  stream: SharedStream,
  source: AsyncIterableIterator<ExecutionResult>,
  { socket, id }: { readonly socket: WebSocket; readonly id: string },
): AsyncIterableIterator<never> {
  const before = `{"id":${JSON.stringify(id)},"type":"next","payload":`
  let over = false
  const end = async (): Promise<IteratorReturnResult<undefined>> => {
    over = true
    await source.return?.()
    return { done: true, value: undefined }
  }
  return {
    async next() {
      while (!over) {
        const text = await stream.nextText()
        if (text === undefined || over || socket.readyState !== socket.OPEN) break
        const waiting = write(socket, `${before}${text}}`)
        if (waiting) await waiting
      }
      return end()
    },
    return: end,
    async throw(error) {
      await end()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Something to wait for where the socket does not keep up, so that a slow reader slows its own streams. */
function write(socket: WebSocket, data: string): Promise<void> | undefined {
  if (socket.bufferedAmount < waitingBytes) return void socket.send(data)
  return new Promise((resolve, reject) => socket.send(data, (error) => (error ? reject(error) : resolve())))
}
