/**
 * Runs as a separate process: a server that kills itself, like kill -9, at a point that its input names, or holds what
 * reaches that point until it is killed. Its model says a few words as slowly as it is told to, calls a tool if it is
 * told to, and says a few words more. Its tools record that they ran.
 */
import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

import { createApp } from '../../src/app.ts'
import { readConfig } from '../../src/config/config.ts'
import { textOf } from '../../src/domain/conversations/content.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { openDatabase } from '../../src/store/database/open-database.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { createLog } from '../../src/util/log.ts'
import { hookDatabase } from './gated-database.ts'
import type { KillPoint } from './kill-points.ts'

let deadly: KillPoint | undefined
let holding: KillPoint | undefined
let workerId: unknown
let hasWrittenFiles = false
let hasFired = false
let hasBudget = false

async function reach(point: KillPoint): Promise<void> {
  if (deadly === point) process.kill(process.pid, 'SIGKILL')
  if (holding !== point) return
  holding = undefined
  console.log('held')
  await new Promise(() => {})
}

const log = createLog('debug')
const database = await openDatabase(process.env['DATABASE_URL']!, { log })
const db = hookDatabase(database.pool, {
  async before(statement, parameters) {
    if (statement.includes('insert into workers')) workerId = parameters[0]
    if (statement.includes('release_conversation')) await reach('before the end')
    if (statement.startsWith('update "webhook_deliveries"')) await reach('delivery sent')
    const point = 'before the answer is stored'
    if (statement.includes('insert into tool_calls') && [deadly, holding].includes(point)) {
      // Long enough for a tool that was started too early to record its effect.
      await sleep(50)
      await reach(point)
    }
    if (/changed_calls[^]*added_steps|added_steps[^]*changed_calls/.test(statement)) {
      const point = 'asked before the step is stored'
      // Long enough for the model to answer.
      if ([deadly, holding].includes(point)) await sleep(20)
      await reach(point)
    }
  },
  async after(statement) {
    if (statement.includes('insert into runs')) await reach('after admission')
    if (statement.includes('set watched = true')) await reach('schedule watched')
    if (/from "schedules".*"next_due" <= /.test(statement)) await reach('schedule locked')
    if (statement.includes('insert into runs')) await reach('due run stored')
    if (statement.startsWith('update "schedules"')) {
      hasFired = true
      await reach('schedule moved on')
    }
    if (statement === 'commit' && hasFired) await reach('fired')
    const budgetPoint = budgetPointAfter(statement)
    if (budgetPoint) {
      hasBudget = true
      await reach(budgetPoint)
    }
    if (statement === 'commit' && hasBudget) await reach('budget committed')
    if (statement.includes('update webhook_deliveries set worker_id = $')) await reach('delivery claimed')
    if (statement.startsWith('update "webhook_deliveries"')) await reach('delivery stored')
    if (statement.includes('insert into tool_calls')) await reach('answer stored')
    if (statement.includes('release_conversation')) await reach('after the end')
    if (statement.includes('insert into file_contents')) {
      hasWrittenFiles = true
      await reach('files written')
    }
    if (statement === 'commit' && hasWrittenFiles) await reach('files committed')
  },
})

function budgetPointAfter(statement: string): KillPoint | undefined {
  if (/from budgets [^]*for share/.test(statement)) return 'budgets locked'
  if (/^update "runs" .*"allowed_tokens"/.test(statement)) return 'allowance stored'
  return /^(update|delete from) "budgets"/.test(statement) ? 'budget changed' : undefined
}

const provider: Provider = {
  name: 'crash',
  models: () => [{ handle: 'crash/scripted', provider: 'crash', contextWindow: 1_000_000 }],
  requestBody: () => ({}),
  async *stream({ messages, tools: offered }, signal) {
    const asked = messages.findLast((message) => message.role === 'user')
    const text = asked?.role === 'user' ? textOf(asked.content) : ''
    const pauseMs = Number(/slow (\d+)/.exec(text)?.[1] ?? 5)
    for (const word of ['let ', 'me ', 'see']) {
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      yield { type: 'text', item: 'text', text: word }
      await reach('mid-stream')
    }
    const named = tools.find(({ name }) => text.includes(name))?.name
    // A summary is asked for without tools.
    if (messages.at(-1)!.role !== 'tool' && offered.length > 0) {
      const name = named ?? (messages.length % 3 === 0 ? 'repeatable' : 'once')
      yield { type: 'call', item: 'call', callId: `call_${messages.length}`, name }
      yield { type: 'arguments', item: 'call', text: '{}' }
    }
    yield {
      type: 'finish',
      reason: 'end',
      usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, reasoningTokens: 0 },
    }
  },
}

async function writeDown(key: string): Promise<string> {
  await database.pool.query('insert into effects (key) values ($1)', [key])
  await reach('mid-tool')
  await sleep(5)
  return 'written down'
}
const parameters = { type: 'object' }
const tools = [
  defineTool({
    name: 'once',
    description: 'Must not run twice.',
    parameters,
    run: (_args, { idempotencyKey }) => writeDown(idempotencyKey),
  }),
  defineTool({
    name: 'repeatable',
    description: 'May run again.',
    parameters,
    idempotent: true,
    run: (_args, { idempotencyKey }) => writeDown(idempotencyKey),
  }),
  defineTool({
    name: 'picture',
    description: 'Returns an image that is large enough to be a file. May run again.',
    parameters,
    idempotent: true,
    async run(_args, { idempotencyKey }) {
      const text = await writeDown(idempotencyKey)
      return { content: [{ text }, { imageUrl: `data:image/png;base64,${btoa(idempotencyKey.repeat(500))}` }] }
    },
  }),
  defineTool({
    name: 'deadly',
    description: 'Kills the process, as often as it is called.',
    parameters,
    idempotent: true,
    run: () => process.kill(process.pid, 'SIGKILL'),
  }),
]

const app = await createApp({
  config: readConfig({
    PORT: '0',
    HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1',
    HOLDPOINT_DRAIN_MS: '5000',
    HOLDPOINT_API_KEY: process.env['HOLDPOINT_API_KEY'],
    REDIS_URL: process.env['REDIS_URL'],
  }),
  database: { ...database, db },
  log,
  role: 'serve',
  tools,
  providers: [provider],
  ...JSON.parse(process.argv[2]!),
})
const { url } = await app.start()
// Otherwise a process keeps what it compiled for the next one when it ends, and these are killed.
flushCompileCache()
console.log(JSON.stringify({ url, workerId }))

createInterface({ input: process.stdin }).on('line', (line) => {
  const { die, hold } = JSON.parse(line) as { readonly die?: KillPoint; readonly hold?: KillPoint }
  deadly = die
  holding = hold
  hasWrittenFiles = false
  hasFired = false
  hasBudget = false
  console.log('armed')
})
process.on('SIGTERM', () => void stop())

async function stop(): Promise<void> {
  await app.stop()
  await database.close()
  process.exit(0)
}
