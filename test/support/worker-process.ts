import type { WorkerProcess } from '../../src/domain/worker.ts'

/** What a worker of a test says about itself. */
export const testWorker: WorkerProcess = { hostname: 'test', version: '0.0.0', capacity: 1, providers: [], tools: [] }
