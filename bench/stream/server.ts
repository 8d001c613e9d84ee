/** Runs as a separate process: a whole server with a model that its parent controls, and a bare WebSocket relay. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { WebSocketServer, type WebSocket } from 'ws'

import { startThrowawayServer } from '../../scripts/throwaway-server.ts'
import type { ModelPart, ModelRequest } from '../../src/domain/models/model-request.ts'
import { noUsage } from '../../src/domain/models/usage.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { bareFrame, stamp, type FromServer, type ToServer, type Work } from './messages.ts'

const say = (message: FromServer) => process.send!(message)
const begun = new Map<string, () => void>()
let bare: readonly WebSocket[] = []

async function* stream(request: ModelRequest): AsyncGenerator<ModelPart, void> {
  const work = readWork(request)
  const go = new Promise<void>((resolve) => begun.set(work.id, resolve))
  say({ type: 'waiting', id: work.id })
  await go
  const startedAt = performance.now()
  let now = startedAt
  for (let chunk = 0; chunk < work.chunks; chunk += 1) {
    const due = startedAt + work.offsetMs + chunk * work.everyMs
    if (work.everyMs === 0) await nextTurn()
    else if (due > now) now = await sleepUntil(due)
    // Every second chunk goes to the relay instead, so that neither waits for the other.
    if (work.relayed && chunk % 2 === 1) for (const socket of bare) socket.send(bareFrame(stamp()))
    else yield { type: 'text', item: 'text', text: stamp() }
  }
  yield { type: 'finish', reason: 'end', usage: noUsage }
}

function readWork(request: ModelRequest): Work {
  const last = request.messages.at(-1) as { readonly content: readonly { readonly text: string }[] }
  return JSON.parse(last.content[0]!.text) as Work
}

/**
 * One timer for all runs, because a thousand timers would be what is measured. A model does not wait for a slow server:
 * overdue chunks come at once, as they would from a socket.
 */
let sleepers: { readonly at: number; wake(now: number): void }[] = []
setInterval(() => {
  const now = performance.now()
  const due = sleepers.filter(({ at }) => at <= now)
  if (due.length > 0) sleepers = sleepers.filter(({ at }) => at > now)
  for (const { wake } of due) wake(now)
}, 1).unref()

/** Resolves with the time at which it woke. */
function sleepUntil(at: number): Promise<number> {
  return new Promise((wake) => sleepers.push({ at, wake }))
}

const provider: Provider = {
  name: 'bench',
  models: () => [{ handle: 'bench/stamps', provider: 'bench', contextWindow: 1_000_000 }],
  requestBody: () => ({}),
  stream,
}

const server = await startThrowawayServer({
  providers: [provider],
  env: { HOLDPOINT_WORKERS: '1000', HOLDPOINT_KEY_SOCKETS: '5000' },
})
const relay = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
await once(relay, 'listening')
relay.on('connection', () => (bare = [...relay.clients]))

process.on('message', (message: ToServer) => void obey(message))
// The benchmark was interrupted.
process.once('disconnect', () => void server.stop().then(() => process.exit()))

async function obey(message: ToServer): Promise<void> {
  switch (message.type) {
    case 'go':
      return begun.get(message.id)!()
    case 'broadcast':
      for (const frame of message.frames) {
        await nextTurn()
        for (const socket of relay.clients) socket.send(frame)
      }
      return
    case 'memory':
      globalThis.gc!()
      await nextTurn()
      globalThis.gc!()
      say({ type: 'memory', bytes: process.memoryUsage().heapUsed + process.memoryUsage().external })
      return
    case 'stop':
      relay.close()
      for (const socket of relay.clients) socket.terminate()
      await server.stop()
      return process.disconnect()
    default:
      message satisfies never
  }
}
say({ type: 'ready', url: server.url, relayUrl: `ws://127.0.0.1:${(relay.address() as AddressInfo).port}` })
