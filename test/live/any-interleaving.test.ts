import { setTimeout as delay } from 'node:timers/promises'

import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'

import { decodeId } from '../../src/domain/ids.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { readableText } from '../support/any-text.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { createFailingDatabase } from '../support/failing-database.ts'
import { createGatedModel, type ModelCall } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'
import { openRunEvents, Reader, storedTexts, type OpenStream } from './reader.ts'
import { longer } from '../support/long.ts'

const model = createGatedModel()
const ask = defineTool({ name: 'ask', description: 'Waits.', parameters: { type: 'object' }, run: () => 'asked' })

const database = await createTestDatabase()
/** The database of the first process, which only serves readers: any of its statements may fail. */
const readersDatabase = createFailingDatabase(database)
/** The database of the second process, where only statements that readers send may fail. */
const mixedDatabase = createFailingDatabase(database, (statement) =>
  statement.includes('select first_seq, at, entries from run_log'),
)
const options = { providers: [model.provider], tools: [ask] }
/** Readers connect to either of the first two. The last two drive runs. */
const apps = [
  await startTestApp({ ...options, database: readersDatabase, env: { HOLDPOINT_WORKERS: '0' } }),
  await startTestApp({ ...options, database: mixedDatabase, env: { HOLDPOINT_WORKERS: '8' } }),
  await startTestApp({ ...options, database, role: 'worker', env: { HOLDPOINT_WORKERS: '8' } }),
]
const talk = talkTo(apps[1]!)
const agent = await talk.createAgent({ tools: [{ name: 'ask', approvalOverride: true }] })
afterAll(async () => {
  for (const app of apps.toReversed()) await app.stop()
  await database.close()
})

type Operation =
  | { readonly do: 'write'; readonly kind: 'say' | 'think' | 'arguments'; readonly text: string }
  | { readonly do: 'end the item' }
  | { readonly do: 'read'; readonly reader: number; readonly events: number }
  | { readonly do: 'drop'; readonly reader: number; readonly process: number }
  | { readonly do: 'pause and approve' }
  | { readonly do: 'replace the worker' }
  | { readonly do: 'fail statements'; readonly process: number; readonly count: number }
  | { readonly do: 'wait' }

const readers = 3
const reader = fc.nat({ max: readers - 1 })
/** Whole and half surrogate pairs, control characters, quotes, long and short texts. */
const text = fc.oneof(
  readableText({ minLength: 1, maxLength: 8 }),
  fc.constantFrom('\ud83d', '\ude42', '🙂', '\u0000', '\n"\\', 'x'.repeat(3_000)),
)
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('write'), kind: fc.constantFrom('say', 'think', 'arguments'), text }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('end the item') }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('read'), reader, events: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('drop'), reader, process: fc.nat({ max: 1 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause and approve') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('replace the worker') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('fail statements'),
      process: fc.nat({ max: 1 }),
      count: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait') }) },
)

/** A client that may be slow. The next read still waits for an event that did not arrive in time. */
class SlowReader {
  readonly reader = new Reader()
  readonly #run: string
  #app: TestApp
  #stream: OpenStream
  #next: Promise<any> | undefined

  constructor(run: string, app: TestApp) {
    this.#run = run
    this.#app = app
    this.#stream = openRunEvents(app, { run })
  }

  /** Stops early if no event arrives in time. False at the end of the stream. */
  async read(events: number, waitMs: number): Promise<boolean> {
    for (let count = 0; count < events; count += 1) {
      this.#next ??= this.#stream.next().catch(asUnavailable)
      const event = await Promise.race([this.#next, delay(waitMs, 'nothing')])
      if (event === 'nothing') return true
      this.#next = undefined
      if (event === undefined) return false
      if (event === 'unavailable') await this.drop(this.#app)
      else this.reader.apply(event)
    }
    return true
  }

  /** The connection breaks and events in transit are lost. The client resumes at its cursor, at any process. */
  async drop(app: TestApp): Promise<void> {
    this.#next?.catch(() => {})
    this.#next = undefined
    await this.#stream.cut()
    if (this.reader.end !== undefined) return
    this.#app = app
    this.#stream = openRunEvents(app, { run: this.#run, after: this.reader.cursor })
  }

  async close(): Promise<void> {
    await this.#stream.socket.dispose()
  }
}

/** The database was unavailable when the socket or the subscription was opened. */
function asUnavailable(error: Error): 'unavailable' {
  if (!error.message.includes('UNAVAILABLE')) throw error
  return 'unavailable'
}

/**
 * The next request of the run that was started with this text. Workers that were replaced may ask the model once more
 * before they find out, when the test plays the next run already.
 */
async function nextCallOf(text: string): Promise<ModelCall> {
  for (;;) {
    const call = await model.nextCall()
    if (JSON.stringify(call.request.messages[0]).includes(`"${text}"`)) return call
  }
}

class Writer {
  readonly #run: string
  readonly #text: string
  #call: ModelCall
  #items = 0
  #kind = ''
  #calls = 0
  readonly #replaced: ModelCall[] = []

  constructor(run: string, text: string, call: ModelCall) {
    this.#run = run
    this.#text = text
    this.#call = call
  }

  write(kind: 'say' | 'think' | 'arguments', text: string): void {
    if (this.#kind !== kind) {
      this.endItem()
      this.#kind = kind
      if (kind === 'arguments') {
        this.#calls += 1
        this.#call.part({ type: 'call', item: this.#item, callId: this.#item, name: 'none' })
      }
    }
    const type = kind === 'say' ? 'text' : kind === 'think' ? 'reasoning' : 'arguments'
    this.#call.part({ type, item: this.#item, text })
    // Workers that were replaced have not noticed yet, and keep writing.
    for (const call of this.#replaced) call.part({ type: 'text', item: 'stale', text: 'STALE' })
  }

  endItem(): void {
    if (this.#kind !== '') this.#call.part({ type: 'done', item: this.#item })
    this.#kind = ''
    this.#items += 1
  }

  async pauseAndApprove(): Promise<void> {
    this.endItem()
    this.#call.call('ask', {})
    this.#call.finish()
    const pending = await talk.pending(this.#run)
    await talk.submit(
      this.#run,
      pending.map(({ id }) => ({ approve: { toolCallId: id } })),
    )
    this.#call = await nextCallOf(this.#text)
    this.#calls = 0
  }

  /** Another worker takes the run, as if the first had been given up, while the first keeps writing. */
  async replace(): Promise<void> {
    const { uuid } = decodeId(this.#run) as { uuid: string }
    await sql`update runs set lease = null, worker_id = null where id = ${uuid}`.execute(database.db)
    this.#replaced.push(this.#call)
    this.#call = await nextCallOf(this.#text)
    this.#kind = ''
    this.#calls = 0
  }

  async finish(): Promise<void> {
    this.#call.finish()
    // The tool does not exist: the model gets an error, and is asked again.
    if (this.#calls > 0) (await nextCallOf(this.#text)).finish()
    for (const call of this.#replaced) call.finish()
  }

  get #item(): string {
    return `${this.#kind} ${this.#items}`
  }
}

let played = 0

async function play(operations: readonly Operation[]): Promise<void> {
  // Each run has its own conversation, so that none has to wait for another.
  const { createConversation } = await apps[1]!.data(
    'mutation ($agent: ID!) { createConversation(input: { agentId: $agent }) { conversation { id } } }',
    { agent },
  )
  const text = `go ${(played += 1)}`
  const run = await talk.start(createConversation.conversation.id, text)
  const writer = new Writer(run, text, await nextCallOf(text))
  const clients = Array.from({ length: readers }, (_, index) => new SlowReader(run, apps[index % 2]!))
  for (const operation of operations) {
    switch (operation.do) {
      case 'write':
        writer.write(operation.kind, operation.text)
        break
      case 'end the item':
        writer.endItem()
        break
      case 'read':
        await clients[operation.reader]!.read(operation.events, 15)
        break
      case 'drop':
        await clients[operation.reader]!.drop(apps[operation.process]!)
        break
      case 'pause and approve':
        await writer.pauseAndApprove()
        break
      case 'replace the worker':
        await writer.replace()
        break
      case 'fail statements':
        ;[readersDatabase, mixedDatabase][operation.process]!.failNext(operation.count)
        break
      case 'wait':
        await delay(10)
        break
      default:
        operation satisfies never
    }
  }
  await writer.finish()
  for (const database of [readersDatabase, mixedDatabase]) database.recover()
  for (const client of clients) {
    while (await client.read(100, 5_000)) if (client.reader.end) break
    await client.close()
  }
  const stored = await storedTexts(apps[1]!, run)
  for (const client of clients) {
    expect(client.reader.end).toBe('COMPLETED')
    expect(client.reader.stored).toEqual(stored)
    expect(client.reader.live.size).toBe(0)
  }
}

const numRuns = longer(12, 300)

test('[STR1] after any writes, pauses, drops, slow reads, failing statements and switches of process, readers have the stored texts', async () => {
  const property = fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 40, size: 'max' }), play)
  // Shrinking a failure would take many more runs, so it stops at the first one.
  await fc.assert(property, { numRuns, plugins: [fc.timeout(15_000)], endOnFailure: true })
}, 600_000)
