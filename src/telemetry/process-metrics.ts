import type { Metrics } from './metrics.ts'

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
