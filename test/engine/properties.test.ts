import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'

import { brokenPromises } from '../support/promises.ts'
import { createSharedWorld, World, type Answer } from '../support/world.ts'
import { longer } from '../support/long.ts'

const shared = await createSharedWorld()
afterAll(() => shared.close())

const choice = fc.nat(5)
const calls = fc.array(fc.constantFrom('plain', 'again', 'ask', 'client', 'nobody'), { maxLength: 3 })
const answer: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constant('answer' as const), calls, thinks: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ type: 'say' as const }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fail' as const), refused: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ type: 'break off' as const }) },
)

/** Something that happens: its probability and its parameters. */
const events = {
  send: [
    3,
    {
      process: choice,
      conversation: fc.constantFrom(0, 0, 0, 1, 2, 3),
      begins: fc.boolean(),
      whenBusy: fc.constantFrom('REJECT', 'ENQUEUE', 'INTERRUPT'),
      key: fc.option(fc.constantFrom('k1', 'k2'), { freq: 3 }),
      // No answer of the test model satisfies it.
      responseSchema: fc.constantFrom(null, null, { type: 'object' }),
    },
  ],
  work: [3, { process: choice }],
  step: [6, { choice, times: fc.integer({ min: 1, max: 8 }) }],
  go: [10, { process: choice, steps: fc.integer({ min: 1, max: 25 }) }],
  answer: [7, { choice, answer }],
  answerAll: [4, { answer }],
  tool: [3, { choice, succeeds: fc.boolean() }],
  decide: [
    4,
    { process: choice, choice, kind: fc.constantFrom('APPROVED', 'DENIED', 'CLIENT_RETURN'), followUp: fc.boolean() },
  ],
  cancel: [1, { process: choice, choice: fc.option(choice) }],
  retry: [1, { process: choice, choice }],
  budget: [
    1,
    {
      process: choice,
      choice,
      limit: fc.constantFrom(null, 0, 0, 1_000),
      whenReached: fc.constantFrom('STOP', 'ASK', 'ASK'),
    },
  ],
  allow: [1, { process: choice }],
  crash: [2, { process: choice }],
  stall: [1, { process: choice }],
  dieAfter: [1, { choice }],
  drain: [1, { process: choice }],
  sweep: [2, {}],
} as const
type Events = typeof events
type Event = {
  [Type in keyof Events]: { readonly type: Type } & {
    readonly [Key in keyof Events[Type][1]]: Events[Type][1][Key] extends fc.Arbitrary<infer Value> ? Value : never
  }
}[keyof Events]
const event = fc.oneof(
  ...Object.entries(events).map(([type, [weight, given]]) => ({
    weight,
    arbitrary: fc.record({ type: fc.constant(type), ...given }),
  })),
) as fc.Arbitrary<Event>

async function happen(world: World, event: Event): Promise<void> {
  const process = 'process' in event ? world.alive(event.process) : undefined
  if ('process' in event && !process) return
  switch (event.type) {
    case 'send':
      return world.send(process!, event)
    case 'work':
      return void (await world.work(process!))
    case 'step':
      for (let times = 0; times < event.times && world.step(event.choice); times++) await world.quiet()
      return
    case 'go':
      for (let count = 0; count < event.steps && (world.step(0) || (await world.work(process!))); count++) {
        await world.quiet()
      }
      return
    case 'answer':
      return void world.answer(event.choice, event.answer)
    case 'answerAll':
      return world.answerAll(event.answer)
    case 'tool':
      return void world.finishTool(event.choice, event.succeeds)
    case 'decide':
      return void (await world.decide(process!, event.choice, event.kind, event.followUp))
    case 'cancel':
      return world.cancel(process!, event.choice)
    case 'retry':
      return world.retry(process!, event.choice)
    case 'budget':
      return world.setBudget(process!, event.choice, event.limit, event.whenReached)
    case 'allow':
      return void (await world.allow(process!))
    case 'crash':
      return world.crash(process!)
    case 'stall':
      return world.stall(process!)
    case 'dieAfter':
      return world.stepAndDie(event.choice)
    case 'drain':
      return world.drain(process!)
    case 'sweep':
      return world.sweep()
    default:
      event satisfies never
  }
}

async function faultsOf(world: World): Promise<string[]> {
  const broken = await Promise.all(world.told().map((told) => brokenPromises(shared.ground.database.db, told)))
  return [...world.faults, ...broken.flat()]
}

/** Lets everything happen, waits until nothing is left to do, and returns the promises that were broken. */
async function faultsAfter(events: readonly Event[]): Promise<string[]> {
  const world = new World(shared)
  await world.open({ processes: 2, conversations: 4 })
  try {
    // One process drives runs of several conversations, so it stores checkpoints of several runs together.
    for (const conversation of [1, 2, 3])
      world.send(world.alive(0)!, { conversation, begins: true, whenBusy: 'ENQUEUE' })
    do await world.quiet()
    while (world.step(0))
    world.send(world.alive(0)!, { whenBusy: 'ENQUEUE' })
    for (const next of events) {
      await world.quiet()
      await happen(world, next)
    }
    await world.settle()
    const faults = await faultsOf(world)
    if (faults.length > 0) return faults

    // Whatever happened, the conversation accepts the next message.
    world.send(world.alive(0)!, { whenBusy: 'REJECT' })
    await world.settle()
    const last = (await world.runs()).at(-1)
    if (last?.status !== 'COMPLETED') world.faults.push(`the next message ended ${last?.status}`)
    return await faultsOf(world)
  } finally {
    await world.close()
  }
}

const title =
  'no interleaving of sends, answers, tools, decisions, budgets, cancels, retries, crashes, stalls and drains breaks a promise'
const numRuns = longer(15, 2_000)

test(`[ENG11] ${title}`, { timeout: numRuns * 20_000 }, async () => {
  const script = fc.array(event, { minLength: 10, maxLength: 70, size: 'max' })
  await fc.assert(
    fc.asyncProperty(script, async (events) => {
      expect(await faultsAfter(events)).toEqual([])
    }),
    { numRuns },
  )
  expect(shared.seen.batches).toBeGreaterThan(0)
  expect(shared.seen.beginnings).toBeGreaterThan(numRuns)
})
