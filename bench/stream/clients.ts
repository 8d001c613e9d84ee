import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { WebSocket } from 'ws'

import { ask } from '../ask.ts'
import type { FromServer, ToServer, Work } from './messages.ts'

export interface BenchServer {
  readonly url: string
  readonly relayUrl: string
  tell(message: ToServer): void
  /** Starts a run that waits for `go`, and returns its id. */
  startRun(work: Work): Promise<string>
  memory(): Promise<number>
  stop(): Promise<void>
}

export async function startBenchServer(): Promise<BenchServer> {
  const child = fork(fileURLToPath(new URL('server.ts', import.meta.url)), { execArgv: ['--expose-gc'] })
  child.setMaxListeners(0)
  const ready = await nextMessage(child, (message) => message.type === 'ready')
  const { url, relayUrl } = ready as Extract<FromServer, { type: 'ready' }>
  return {
    url,
    relayUrl,
    tell: (message) => void child.send(message),
    async startRun(work) {
      const waiting = nextMessage(child, (message) => message.type === 'waiting' && message.id === work.id)
      const { createAgent } = await ask(
        url,
        'mutation { createAgent(input: { name: "bench", model: "bench/stamps", includeBaseTools: false }) { agent { id } } }',
      )
      const { sendMessage } = await ask(
        url,
        `mutation ($agentId: ID!, $text: String!) { sendMessage(input: { to: { agentId: $agentId }, messages: [{ text: $text }] }) {
          ... on SendMessageSuccess { run { id } } } }`,
        { agentId: createAgent.agent.id, text: JSON.stringify(work) },
      )
      await waiting
      return sendMessage.run.id
    },
    async memory() {
      const answer = nextMessage(child, (message) => message.type === 'memory')
      child.send({ type: 'memory' } satisfies ToServer)
      return ((await answer) as Extract<FromServer, { type: 'memory' }>).bytes
    },
    async stop() {
      child.send({ type: 'stop' } satisfies ToServer)
      await once(child, 'exit')
    },
  }
}

function nextMessage(child: ChildProcess, fits: (message: FromServer) => boolean): Promise<FromServer> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error('The server ended.'))
    const onMessage = (message: FromServer) => {
      if (!fits(message)) return
      child.off('message', onMessage)
      child.off('exit', onExit)
      resolve(message)
    }
    child.on('message', onMessage)
    child.once('exit', onExit)
  })
}

const subscription = `subscription ($run: ID!) { runEvents(runId: $run) {
  __typename cursor ... on TextDelta { messageId offset text } } }`

/** A socket that follows runs and passes on every frame unparsed. Resolves when all subscriptions are established. */
export async function follow(
  url: string,
  runs: readonly string[],
  onFrame: (frame: string) => void,
): Promise<WebSocket> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), 'graphql-transport-ws', { perMessageDeflate: false })
  await once(socket, 'open')
  const stands = new Promise<void>((resolve, reject) => {
    socket.once('close', (code) => reject(new Error(`The server closed a socket with ${code}.`)))
    const seen = new Set<string>()
    socket.on('message', (data) => {
      const frame = String(data)
      if (seen.size < runs.length && frame.includes('StepStarted')) {
        seen.add(/"id":"(\d+)"/.exec(frame)![1]!)
        if (seen.size === runs.length) resolve()
      }
      // A stream that ends with an error would be waited for until the time is up.
      if (frame.startsWith('{"id"') && frame.includes('"type":"error"')) socket.terminate()
      onFrame(frame)
    })
  })
  socket.send('{"type":"connection_init"}')
  await once(socket, 'message')
  for (const [index, run] of runs.entries()) {
    const payload = { query: subscription, variables: { run } }
    socket.send(JSON.stringify({ id: String(index), type: 'subscribe', payload }))
  }
  await stands
  return socket
}

export async function followRelay(url: string, onFrame: (frame: string) => void): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  socket.on('message', (data) => onFrame(String(data)))
  await once(socket, 'open')
  return socket
}

const mostMs = 180_000

/** Waits for what the sockets bring. Fails if one of them is closed meanwhile, or after three minutes. */
export async function whileOpen(sockets: readonly WebSocket[], done: Promise<void>): Promise<void> {
  const { promise: failed, reject } = Promise.withResolvers<never>()
  const onClose = (code: number) => reject(new Error(`The server closed a socket with ${code}.`))
  for (const socket of sockets) socket.once('close', onClose)
  const timer = setTimeout(() => reject(new Error(`It did not finish within ${mostMs / 1_000} s.`)), mostMs)
  try {
    await Promise.race([done, failed])
  } finally {
    clearTimeout(timer)
    for (const socket of sockets) socket.off('close', onClose)
  }
}

/** Opened in batches, because a listen queue is short. */
export async function openAll<T>(count: number, open: (index: number) => Promise<T>): Promise<T[]> {
  const opened: T[] = []
  for (let from = 0; from < count; from += 50) {
    const group = Array.from({ length: Math.min(50, count - from) }, (_, index) => open(from + index))
    opened.push(...(await Promise.all(group)))
  }
  return opened
}

export function quantiles(times: readonly number[]): { readonly p50: number; readonly p99: number } {
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number) => round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN)
  return { p50: at(0.5), p99: at(0.99) }
}

export function round(value: number): number {
  return Number(value.toPrecision(3))
}
