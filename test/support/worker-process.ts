import type { WorkerProcess } from '../../src/domain/worker.ts'

/** How a worker of a test describes itself. */
export const testWorker: WorkerProcess = { hostname: 'test', version: '0.0.0', capacity: 1, providers: [], tools: [] }
