import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

import { ask } from './ask.ts'
import { onGround, round, startContender, type Contender } from './contenders.ts'
import { machine } from './peers.ts'

const tooLateMs = 250
const warmUpMs = 2_000
const openedAtOnce = 20
const measuredMs = Number(process.env['BENCH_LIVE_MS'] ?? 5_000)
const first = Number(process.env['BENCH_LIVE_FIRST'] ?? 100)
/** The range in which the limit lies is halved this often. */
const halvings = 2
const contenders = ['relay', 'langgraph-stream', 'mastra-server', 'holdpoint'] as const
type Name = (typeof contenders)[number]

/**
 * Live chats in one process: runs of 50 tokens per second, each with a reader of its own over server-sent events, twice
 * as many from round to round until the 99th percentile of the delay from the model to the reader passes 250 ms.
 */
export async function benchLive(): Promise<void> {
  const wanted = (process.env['BENCH_LIVE']?.split(',') ?? contenders) as readonly Name[]
  await onGround(async (ground) => {
    const most: Partial<Record<Name, number>> = {}
    for (const name of wanted) {
      const settings = { HOLDPOINT_WORKERS: 5_000, HOLDPOINT_KEY_REQUESTS: 0 }
      const options = { file: `${name}.mjs`, modelPath: '/live/v1', env: { SETTINGS: JSON.stringify(settings) } }
      const one = await startContender(`live ${name}`, ground, options)
      try {
        most[name] = await findMost(name, one, () => fetch(`${ground.modelUrl}/live/end`))
      } finally {
        await one.stop()
      }
    }
    const ratios = Object.fromEntries(
      Object.entries(most).map(([name, chats]) => [name, round((most.holdpoint ?? Number.NaN) / chats, 2)]),
    )
    console.log(JSON.stringify({ bench: 'live', most, ratios, ...machine() }))
  })
}

async function findMost(name: Name, one: Contender, endAll: () => Promise<unknown>): Promise<number> {
  let enough = 0
  let tooMany = Number.POSITIVE_INFINITY
  for (let chats = first, halved = 0; halved <= halvings;) {
    const figures = await chat(name, one, { chats, endAll })
    console.log(JSON.stringify({ bench: 'live', name, chats, ...figures }))
    if (figures.p99Ms <= tooLateMs) enough = chats
    else tooMany = chats
    if (tooMany < Number.POSITIVE_INFINITY) halved += 1
    if (chats === first && enough === 0) break
    chats = tooMany < Number.POSITIVE_INFINITY ? Math.round((enough + tooMany) / 2) : chats * 2
  }
  return enough
}

async function chat(
  name: Name,
  one: Contender,
  { chats, endAll }: { readonly chats: number; readonly endAll: () => Promise<unknown> },
) {
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
  const delays: number[] = []
  let isMeasuring = false
  const onStamps = (stamps: readonly number[]) => {
    const now = Date.now()
    if (isMeasuring) for (const stamp of stamps) delays.push(now - stamp)
  }
  const ends: Promise<void>[] = []
  while (ends.length < chats) {
    const opening = Array.from({ length: Math.min(openedAtOnce, chats - ends.length) }, async () => {
      const { path, body } = await askFor(name, one)
      return readEvents(new URL(path, one.url), { agent, body }, onStamps)
    })
    for (const { ended } of await Promise.all(opening)) ends.push(ended)
  }
  await sleep(warmUpMs)
  isMeasuring = true
  const cpuBefore = one.cpuMs()
  await sleep(measuredMs)
  isMeasuring = false
  const cpu = one.cpuMs() - cpuBefore
  await endAll()
  await Promise.all(ends)
  agent.destroy()
  const sorted = Float64Array.from(delays).toSorted()
  const quantile = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.POSITIVE_INFINITY
  return {
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    tokensPerSecond: Math.round(delays.length / (measuredMs / 1_000)),
    cpuMicrosPerToken: round((cpu * 1_000) / delays.length),
    residentMb: round(one.residentMb(), 0),
  }
}

/** Where to read the answer. */
async function askFor(name: Name, one: Contender): Promise<{ path: string; body: object }> {
  const id = `chat-${(asked += 1)}`
  if (name === 'mastra-server') {
    const messages = [{ role: 'user', content: text }]
    return { path: '/api/agents/weather/stream', body: { messages, memory: { thread: id, resource: 'user' } } }
  }
  if (name !== 'holdpoint') return { path: '/stream', body: { conversation: id, text } }
  const { conversations } = await one.tell({ prepared: [id] })
  const { sendMessage } = await ask(
    one.url,
    `mutation ($input: SendMessageInput!) { sendMessage(input: $input) {
      ... on SendMessageSuccess { run { id } } ... on Refusal { message } } }`,
    { input: { to: { conversationId: conversations[0] }, messages: [{ text }] } },
  )
  const query = 'subscription ($run: ID!) { runEvents(runId: $run) { cursor ... on TextDelta { text } } }'
  return { path: new URL(one.url).pathname, body: { query, variables: { run: sendMessage.run.id } } }
}
let asked = 0
const text = 'Tell me everything.'

/** Resolves once the response has begun. */
function readEvents(
  url: URL,
  { agent, body }: { readonly agent: Agent; readonly body: object },
  onStamps: (stamps: readonly number[]) => void,
): Promise<{ readonly ended: Promise<void> }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly ended: Promise<void> }>()
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
  const sent = request(url, { method: 'POST', agent, headers }, (response) => {
    if (response.statusCode !== 200) return reject(new Error(`${url.pathname} answered ${response.statusCode}.`))
    const ended = Promise.withResolvers<void>()
    let rest = ''
    let last = 0
    response.setEncoding('latin1')
    response.on('data', (data: string) => {
      const text = rest + data
      const stamps: number[] = []
      let end = 0
      // `@` and the time in milliseconds.
      for (let place = text.indexOf('@17'); place !== -1; place = text.indexOf('@17', end)) {
        if (place + 15 > text.length) break
        const stamp = Number(text.slice(place + 1, place + 14))
        // Some servers repeat the whole text at the end.
        if (stamp > last) stamps.push(stamp)
        last = Math.max(last, stamp)
        end = place + 14
      }
      rest = text.slice(Math.max(end, text.length - 14))
      if (stamps.length > 0) onStamps(stamps)
    })
    response.on('end', ended.resolve)
    response.on('error', ended.reject)
    resolve({ ended: ended.promise })
  })
  sent.on('error', reject)
  sent.end(JSON.stringify(body))
  return promise
}
