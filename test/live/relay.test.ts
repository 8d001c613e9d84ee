import { beforeEach, expect, onTestFinished, test } from 'vitest'

import { writeText, type LiveItem } from '../../src/domain/runs/live-step.ts'
import type { RunNews } from '../../src/domain/runs/run-news.ts'
import { Hub, type WakeUp } from '../../src/live/hub.ts'
import { Relay } from '../../src/live/relay.ts'
import { createLog } from '../../src/util/log.ts'
import { createMemoryNetwork, type MemoryNetwork } from '../support/memory-bus.ts'

/**
 * Two processes that share nothing but the relay: no database, no poll and no sweep that would find what the relay
 * lost. If a message is not relayed, its test waits forever.
 */
let network: MemoryNetwork
let reading: Hub
let writing: Hub

beforeEach(async () => {
  network = createMemoryNetwork()
  const open = async (): Promise<Hub> => {
    const hub = new Hub()
    const relay = new Relay({ bus: network.createBus(), hub, log: createLog('silent') })
    await relay.start()
    onTestFinished(() => relay.stop())
    return hub
  }
  const met = Promise.withResolvers<void>()
  network.isLost = ({ type }) => {
    if (type === 'here') queueMicrotask(met.resolve)
    return false
  }
  reading = await open()
  writing = await open()
  // The first process has answered the second, so each knows of the other.
  await met.promise
  network.isLost = () => false
})

/** The arguments of a listener's calls, one by one. */
function collect<Value>() {
  const values: Value[] = []
  let added = Promise.withResolvers<void>()
  return {
    listener(value: Value) {
      values.push(value)
      added.resolve()
    },
    async next(): Promise<Value> {
      while (values.length === 0) {
        await added.promise
        added = Promise.withResolvers<void>()
      }
      return values.shift()!
    },
  }
}

test('[BUS12] a stop request reaches the process that drives the run', async () => {
  const stops = collect<void>()
  writing.onStopRequest('run', stops.listener)
  reading.requestStop('run')
  await stops.next()
})

test('[BUS12] a stop request that its own process can answer is not sent to others', async () => {
  const sent: string[] = []
  network.isLost = ({ type }) => sent.push(type) < 0
  const stops = collect<void>()
  writing.onStopRequest('run', stops.listener)
  writing.requestStop('run')
  await stops.next()
  // Messages arrive in the order in which they are sent.
  reading.requestStop('other')
  await expect.poll(() => sent.filter((type) => type === 'stop').length).toBe(1)
})

test('[BUS13] processes that have readers of the run are told that entries were stored', async () => {
  const wakeUps = collect<WakeUp>()
  reading.listen('run', wakeUps.listener)
  // The second look, which finds entries that were stored before others knew of this reader.
  expect(await wakeUps.next()).toBe('stored')
  const before = reading.tail('run')!.announcements
  writing.runChanged('run')
  expect(await wakeUps.next()).toBe('stored')
  expect(reading.tail('run')!.announcements).toBe(before + 1)
})

test('[BUS14] news reaches the processes that watch its conversation or its tenant', async () => {
  const watchers = { conversation: collect<RunNews | undefined>(), tenant: collect<RunNews | undefined>() }
  reading.watchConversation('conversation', watchers.conversation.listener)
  reading.watchTenant('tenant', watchers.tenant.listener)
  for (const watcher of Object.values(watchers)) expect(await watcher.next()).toBeUndefined()
  const news = { runId: 'run', conversationId: 'conversation', tenantId: 'tenant', status: 'QUEUED', calls: false }
  writing.announce(news as RunNews)
  for (const watcher of Object.values(watchers)) expect(await watcher.next()).toEqual(news)
})

/** A live step of `writing` with one message. */
function startStep() {
  const item: LiveItem = { kind: 'ASSISTANT', id: 'm', text: '', complete: false, redacted: false, provider: null }
  writing.onStopRequest('run', () => {})
  writing.setLiveStep('run', { seq: 1, stepIndex: 0, items: [item] })
  return (text: string) => {
    writeText(item, text)
    writing.textWritten('run')
  }
}

test('[BUS1] text is sent as it is written, without being asked for again', async () => {
  const write = startStep()
  const wakeUps = collect<WakeUp>()
  reading.listen('run', wakeUps.listener)
  const readText = async (text: string) => {
    while (reading.liveStep('run')?.items[0]?.text !== text) await wakeUps.next()
  }
  write('one')
  await readText('one')
  network.isLost = ({ type }) => type === 'follow'
  for (let word = 2, text = 'one'; word < 20; word += 1) {
    write(` ${word}`)
    await readText((text += ` ${word}`))
  }
})

test('[BUS15] text that was lost is asked for again', async () => {
  const write = startStep()
  const wakeUps = collect<WakeUp>()
  reading.listen('run', wakeUps.listener)
  let lost = 0
  network.isLost = ({ type }) => type === 'text' && (lost += 1) <= 2
  write('lost, ')
  while (reading.liveStep('run')?.items[0]?.text !== 'lost, ') await wakeUps.next()
  expect(lost).toBeGreaterThan(2)
})

test('[OPS70] a relay that is stopped while its bus is opened has no timers', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const opened = Promise.withResolvers<void>()
  const bus = { ...network.createBus(), open: () => opened.promise }
  const relay = new Relay({ bus, hub: new Hub(), log: createLog('silent') })
  const started = relay.start()
  await relay.stop()
  opened.resolve()
  await started
  expect(timers()).toBe(before)
})
