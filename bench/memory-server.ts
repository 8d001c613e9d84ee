/** Runs as a separate process: a whole server, and what its memory holds after a garbage collection. */
import { startThrowawayServer } from '../scripts/throwaway-server.ts'
import { lookUp, twoCalls } from './turn.ts'

export type FromMemoryServer = { readonly url: string } | { readonly heapMb: number; readonly residentMb: number }

const say = (message: FromMemoryServer) => process.send!(message)
const server = await startThrowawayServer({ providers: [twoCalls], tools: [lookUp] })

process.on('message', (message: 'memory' | 'stop') => {
  if (message === 'stop') return void server.stop().then(() => process.disconnect())
  globalThis.gc!()
  const { heapUsed, external, rss } = process.memoryUsage()
  say({ heapMb: megabytes(heapUsed + external), residentMb: megabytes(rss) })
})

// The benchmark was interrupted.
process.once('disconnect', () => void server.stop())

say({ url: server.url })

function megabytes(bytes: number): number {
  return Math.round(bytes / 2 ** 17) / 8
}
