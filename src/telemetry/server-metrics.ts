import type { Workload } from '../domain/worker.ts'
import type { Log } from '../util/log.ts'
import type { Metrics, NumberPoint } from './metrics.ts'

export interface ServerSources {
  /** Reads the database. */
  readonly workload: () => Promise<Workload>
  readonly pool: () => { readonly total: number; readonly idle: number; readonly waiting: number }
  /** Open subscriptions of this process. */
  readonly subscribers: () => number
  /** Whether this process can receive messages from others. */
  readonly busConnected: () => boolean
  readonly log: Log
}

/** The database is queried at most once in this time, however often metrics are collected. */
const keptMs = 1_000

/** Gauges that are read when the metrics are collected. */
export function addServerMetrics(
  metrics: Metrics,
  { workload, pool, subscribers, busConnected, log }: ServerSources,
): void {
  const gauge = (name: string, unit: string, help: string, read: Parameters<Metrics['read']>[1]) =>
    metrics.read({ name, unit, help, kind: 'gauge' }, read)
  addWorkloadMetrics(metrics, workload, log)
  gauge('holdpoint.subscribers', '{subscriber}', 'Open subscriptions of this process.', subscribers)
  const connected = 'Whether this process receives messages from others: 1, or 0 if it waits to reconnect.'
  gauge('holdpoint.bus.connected', '1', connected, () => Number(busConnected()))
  gauge('holdpoint.pool.connections', '{connection}', 'Database connections of this process.', () => {
    const { total, idle } = pool()
    return [
      { labels: { state: 'used' }, value: total - idle },
      { labels: { state: 'idle' }, value: idle },
    ]
  })
  gauge('holdpoint.pool.waiting', '{request}', 'Statements that wait for a database connection.', () => pool().waiting)
}

/** The returned function takes seconds. */
export function measureBusDelay(metrics: Metrics): (seconds: number) => void {
  return metrics.histogram({
    name: 'holdpoint.bus.delay',
    unit: 's',
    help: 'Time that a message to all processes takes to come back to its sender.',
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  })
}

export function countDeletedRows(metrics: Metrics): (rows: number, kind: string) => void {
  const count = metrics.counter({
    name: 'holdpoint.retention.deleted',
    unit: '{row}',
    help: 'Rows that were deleted because they were old: logs, runs, archived conversations, audit entries.',
  })
  return (rows, kind) => count(rows, { kind })
}

function addWorkloadMetrics(metrics: Metrics, workload: () => Promise<Workload>, log: Log): void {
  let known: Workload | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  async function read(): Promise<void> {
    try {
      known = await workload()
      readAt = performance.now()
    } catch (error) {
      known = undefined
      log.warn({ err: error }, 'metrics of the database could not be read')
    }
  }
  metrics.prepare(async () => {
    if (performance.now() - readAt < keptMs) return
    await (reading ??= read().finally(() => (reading = undefined)))
  })

  const whole = 'Of the whole installation: the same in every process.'
  const gauge = (name: string, unit: string, help: string, read: (load: Workload) => number | NumberPoint[]) =>
    metrics.read({ name, unit, help: `${help} ${whole}`, kind: 'gauge' }, () => (known ? read(known) : []))
  gauge('holdpoint.queue.depth', '{run}', 'Runs that wait for a worker, or behind another run.', (load) => [
    { labels: { state: 'ready' }, value: load.claimableRuns },
    { labels: { state: 'behind' }, value: load.runsBehind },
  ])
  const oldestRun = 'Age of the oldest run that waits for a worker.'
  gauge('holdpoint.queue.oldest', 's', oldestRun, (load) => load.oldestClaimableSeconds)
  gauge('holdpoint.runs.active', '{run}', 'Runs that workers drive now.', (load) => load.drivenRuns)
  gauge('holdpoint.approvals.waiting', '{call}', 'Tool calls that wait, by what they wait for.', (load) => [
    { labels: { needs: 'APPROVAL' }, value: load.waitingApprovals },
    { labels: { needs: 'CLIENT_EXECUTION' }, value: load.waitingClientCalls },
  ])
  const oldestCall = 'Age of the oldest tool call that waits for a person.'
  gauge('holdpoint.approvals.oldest', 's', oldestCall, (load) => load.oldestApprovalSeconds)
  gauge('holdpoint.workers.alive', '{worker}', 'Processes that drive runs.', (load) => load.workers)
  gauge('holdpoint.workers.capacity', '{run}', 'Runs that all workers can drive at a time.', (load) => load.capacity)
}

const sampleMs = 500
const delayBounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/** Measures the process itself, until the returned function is called. */
export function startProcessMetrics(metrics: Metrics): () => void {
  const delay = metrics.histogram({
    name: 'holdpoint.event_loop.delay',
    unit: 's',
    help: 'How late timers fire because the process was busy.',
    bounds: delayBounds,
  })
  metrics.read(
    { name: 'process.resident_memory', unit: 'By', help: 'Memory that the process holds.', kind: 'gauge' },
    () => process.memoryUsage.rss(),
  )
  metrics.read(
    { name: 'process.cpu', unit: 's', help: 'Processor time that the process used.', kind: 'counter' },
    () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    },
  )
  let expected = performance.now() + sampleMs
  const timer = setInterval(() => {
    const now = performance.now()
    delay(Math.max(0, now - expected) / 1000)
    expected = now + sampleMs
  }, sampleMs)
  timer.unref()
  return () => clearInterval(timer)
}
