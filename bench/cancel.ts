import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { startThrowawayServer } from '../scripts/throwaway-server.ts'
import { ask } from './ask.ts'
import { startSilentProvider, type SilentProvider } from './silent-provider.ts'

const samples = 200
const warmUp = 20

/**
 * From the mutation leaving the client to the provider seeing its socket closed, in the middle of an answer: with the
 * worker in the API's process, and in another one. For comparison, the same for a bare `fetch` that is aborted.
 */
export async function benchCancel(): Promise<void> {
  const provider = await startSilentProvider()
  try {
    const bareFetch = await measure(() => abortFetch(provider))
    print('bare fetch', bareFetch)
    const oneProcess = await withServer(provider, { workers: 'here' })
    print('one process', oneProcess)
    const twoProcesses = await withServer(provider, { workers: 'elsewhere' })
    print('two processes', twoProcesses)
    console.log(JSON.stringify({ bench: 'cancel', unit: 'ms', samples, oneProcess, twoProcesses, bareFetch }))
  } finally {
    await provider.stop()
  }
}

interface Quantiles {
  readonly p50: number
  readonly p99: number
}

async function measure(sample: () => Promise<number>): Promise<Quantiles> {
  for (let round = 0; round < warmUp; round += 1) await sample()
  const times: number[] = []
  for (let round = 0; round < samples; round += 1) times.push(await sample())
  times.sort((one, other) => one - other)
  const at = (share: number) => Math.round(times[Math.ceil(share * samples) - 1]! * 100) / 100
  return { p50: at(0.5), p99: at(0.99) }
}

function print(what: string, { p50, p99 }: Quantiles): void {
  console.log(`${what.padEnd(14)} p50 ${p50.toFixed(2)} ms   p99 ${p99.toFixed(2)} ms`)
}

async function abortFetch(provider: SilentProvider): Promise<number> {
  const abort = new AbortController()
  const { signal } = abort
  const response = await fetch(`${provider.url}/chat/completions`, { method: 'POST', body: '{}', signal })
  const request = await provider.nextRequest()
  const reader = response.body!.getReader()
  await reader.read()
  const before = performance.now()
  abort.abort()
  const closed = await request.closed
  await reader.read().catch(() => undefined)
  return closed - before
}

async function withServer(
  provider: SilentProvider,
  { workers }: { readonly workers: 'here' | 'elsewhere' },
): Promise<Quantiles> {
  const env = { OPENAI_CHAT_BASE_URL: provider.url, OPENAI_CHAT_API_KEY: 'bench' }
  const server = await startThrowawayServer({
    env: { ...env, ...(workers === 'elsewhere' && { HOLDPOINT_WORKERS: '0' }) },
  })
  let worker: ChildProcess | undefined
  try {
    if (workers === 'elsewhere') worker = await startWorker({ ...env, DATABASE_URL: server.databaseUrl })
    return await measure(() => cancelRun(server.url, provider))
  } finally {
    if (worker) {
      worker.kill('SIGTERM')
      await once(worker, 'exit')
    }
    await server.stop()
  }
}

async function startWorker(env: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
  const worker = spawn(process.execPath, [main, 'worker'], {
    env: { PATH: process.env['PATH'], LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(worker.stdout, 'data')
  return worker
}

async function cancelRun(url: string, provider: SilentProvider): Promise<number> {
  const { createAgent } = await ask(
    url,
    'mutation { createAgent(input: { name: "bench", model: "openai-chat/bench", includeBaseTools: false }) { agent { id } } }',
  )
  const { sendMessage } = await ask(
    url,
    `mutation ($agentId: ID!) { sendMessage(input: { to: { agentId: $agentId }, messages: [{ text: "go" }] }) {
      ... on SendMessageSuccess { run { id } } } }`,
    { agentId: createAgent.agent.id },
  )
  const request = await provider.nextRequest()
  const before = performance.now()
  const answer = ask(url, 'mutation ($id: ID!) { cancelRun(input: { runId: $id }) { __typename } }', {
    id: sendMessage.run.id,
  })
  const closed = await request.closed
  const { cancelRun } = await answer
  if (cancelRun.__typename !== 'CancelRunSuccess') throw new Error(`The cancel returned ${cancelRun.__typename}.`)
  return closed - before
}
