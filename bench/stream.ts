import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import type { WebSocket } from 'ws'

import {
  follow,
  followRelay,
  openAll,
  quantiles,
  round,
  startBenchServer,
  whileOpen,
  type BenchServer,
} from './stream/clients.ts'
import { agesOf, type Work } from './stream/messages.ts'

/**
 * Latency, fan-out, memory and many runs. Each part prints one line of JSON, and the two sides of a ratio run at the
 * same time.
 */
export async function benchStream(): Promise<void> {
  const parts = { latency, fanOut, memory, manyRuns }
  const asked = process.env['BENCH_STREAM']?.split(',')
  for (const [name, part] of Object.entries(parts)) {
    if (asked && !asked.includes(name)) continue
    console.error(`stream: ${name} …`)
    const server = await startBenchServer()
    try {
      await part(server)
    } finally {
      await server.stop()
    }
  }
}

const newWork = (work: Partial<Work>): Work => ({
  id: randomUUID(),
  chunks: 1,
  everyMs: 0,
  offsetMs: 0,
  relayed: false,
  ...work,
})

const textOf = (frame: string) => /"text":"([^"]*)"/.exec(frame)?.[1]
const isEnd = (frame: string) => frame.endsWith('"type":"complete"}')

/** From a provider's chunk to its arrival at the client, compared with a bare relay of the same chunks. */
async function latency(server: BenchServer): Promise<void> {
  const ours: number[] = []
  const bare: number[] = []
  const relay = await followRelay(server.relayUrl, (frame) => bare.push(...agesOf(textOf(frame)!)))
  for (let round = 0; round < 3; round += 1) {
    const work = newWork({ chunks: 600, everyMs: 5, relayed: true })
    const run = await server.startRun(work)
    const ended = Promise.withResolvers<void>()
    const socket = await follow(server.url, [run], (frame) => {
      const text = textOf(frame)
      if (text) ours.push(...agesOf(text))
      else if (isEnd(frame)) ended.resolve()
    })
    server.tell({ type: 'go', id: work.id })
    await whileOpen([socket], ended.promise)
    socket.terminate()
    // The first round warms up.
    if (round === 0) ours.length = bare.length = 0
  }
  relay.terminate()
  const [holdpoint, bareWs] = [quantiles(ours), quantiles(bare)]
  const ratio = round(holdpoint.p50 / bareWs.p50)
  print({ bench: 'stream latency', unit: 'ms', chunks: ours.length, holdpoint, bareWs, ratio })
}

/**
 * Events per second to many subscribers of one run, compared with a broadcast of the same JSON to as many bare sockets.
 */
async function fanOut(server: BenchServer): Promise<void> {
  for (const subscribers of [1, 100, 1_000]) {
    console.error(`stream: fan-out to ${subscribers} …`)
    const chunks = Math.min(30_000, Math.ceil(300_000 / subscribers))
    // The first round warms up. Of the others, the median counts.
    await fanOutTo(server, subscribers, Math.ceil(chunks / 2))
    const rounds = []
    for (let count = 0; count < 3; count += 1) rounds.push(await fanOutTo(server, subscribers, chunks))
    rounds.sort((one, other) => one.ratio - other.ratio)
    const ratios = rounds.map(({ ratio }) => ratio)
    print({ bench: 'stream fan-out', unit: 'events/s', subscribers, ...rounds[1], ratios })
  }
}

async function fanOutTo(server: BenchServer, subscribers: number, chunks: number) {
  const work = newWork({ chunks })
  const run = await server.startRun(work)
  let received = 0
  let ended = 0
  const all = Promise.withResolvers<void>()
  const recorded: string[] = []
  const sockets = await openAll(subscribers, (index) =>
    follow(server.url, [run], (frame) => {
      if (index === 0 && frame.includes('"TextDelta"')) recorded.push(frame)
      if (frame.includes('"TextDelta"')) received += 1
      else if (isEnd(frame) && (ended += 1) === subscribers) all.resolve()
    }),
  )
  const startedAt = performance.now()
  server.tell({ type: 'go', id: work.id })
  await whileOpen(sockets, all.promise)
  const holdpoint = (received / (performance.now() - startedAt)) * 1_000
  await closeAll(sockets)

  const expected = recorded.length * subscribers
  let relayed = 0
  const relayedAll = Promise.withResolvers<void>()
  const relays = await openAll(subscribers, () =>
    followRelay(server.relayUrl, (frame) => {
      if (frame.includes('"TextDelta"') && (relayed += 1) === expected) relayedAll.resolve()
    }),
  )
  const relayStartedAt = performance.now()
  server.tell({ type: 'broadcast', frames: recorded })
  // A reader that was far behind may have got the whole answer without a delta.
  if (expected > 0) await whileOpen(relays, relayedAll.promise)
  const bareWs = (expected / (performance.now() - relayStartedAt)) * 1_000
  await closeAll(relays)
  return {
    chunks,
    eventsEach: round(received / subscribers),
    holdpoint: Math.round(holdpoint),
    bareWs: Math.round(bareWs),
    ratio: round(holdpoint / bareWs),
  }
}

/** The memory of an idle subscriber, compared with an idle bare socket. */
async function memory(server: BenchServer): Promise<void> {
  const subscribers = 2_000
  const work = newWork({})
  const run = await server.startRun(work)
  // Memory that is allocated once for all subscribers is not counted.
  const early = await openAll(50, () => follow(server.url, [run], () => {}))
  const before = await server.memory()
  const sockets = await openAll(subscribers, () => follow(server.url, [run], () => {}))
  const during = await server.memory()
  await closeAll(sockets)
  await sleep(500)
  const after = await server.memory()
  const relays = await openAll(subscribers, () => followRelay(server.relayUrl, () => {}))
  const withRelays = await server.memory()
  await closeAll([...relays, ...early])
  print({
    bench: 'stream memory',
    unit: 'bytes per idle subscriber',
    subscribers,
    holdpoint: Math.round((during - before) / subscribers),
    left: Math.round((after - before) / subscribers),
    bareWs: Math.round((withRelays - after) / subscribers),
  })
}

/** A thousand runs of fifty tokens per second, each with one reader. */
async function manyRuns(server: BenchServer): Promise<void> {
  const runs = 1_000
  const chunks = 500
  const works = Array.from({ length: runs }, (_, index) =>
    newWork({ chunks, everyMs: 20, offsetMs: (index * 20) / runs }),
  )
  const ids = await openAll(runs, (index) => server.startRun(works[index]!))
  const delays: number[] = []
  let received = 0
  let events = 0
  let ended = 0
  const all = Promise.withResolvers<void>()
  let startedAt = 0
  let lastAt = 0
  const sockets = await openAll(runs, (index) =>
    follow(server.url, [ids[index]!], (frame) => {
      const text = textOf(frame)
      if (text) {
        const ages = agesOf(text)
        received += ages.length
        events += 1
        lastAt = performance.now()
        // The first second warms up.
        if (lastAt - startedAt > 1_000) delays.push(...ages)
      } else if (isEnd(frame) && (ended += 1) === runs) all.resolve()
    }),
  )
  startedAt = performance.now()
  for (const work of works) server.tell({ type: 'go', id: work.id })
  await whileOpen(sockets, all.promise)
  await closeAll(sockets)
  print({
    bench: 'stream many runs',
    unit: 'ms',
    runs,
    tokensPerSecond: Math.round(received / ((lastAt - startedAt) / 1_000)),
    events,
    ...quantiles(delays),
    lost: runs * chunks - received,
  })
}

async function closeAll(sockets: readonly WebSocket[]): Promise<void> {
  for (const socket of sockets) socket.terminate()
  await sleep(100)
}

function print(line: object): void {
  console.log(JSON.stringify(line))
}
