import type { Worker as DomainWorker } from '../domain/worker.ts'
import { listWorkers } from '../store/workers/workers.ts'
import { builder } from './builder.ts'
import { idOf, implement, int, of, string, time } from './fields.ts'
import { Node } from './node.ts'

const Worker = builder.objectRef<DomainWorker>('Worker')
implement(Worker, {
  description: 'A process that drives runs.',
  interfaces: [Node],
  fields: () => ({
    id: idOf(
      'Worker',
      'id',
      'Globally unique. A process gets a new one when it starts, and when it loses its connection to the database.',
    ),
    hostname: string('Name of the machine.'),
    version: string('Version of the server software.'),
    capacity: int('Maximum number of runs at the same time.'),
    activeRunCount: int('Number of runs in progress.'),
    startedAt: time('When the process started.'),
    lastSeenAt: time('Time of the last heartbeat. After 30 seconds without one, other workers take over its runs.'),
  }),
})

builder.queryField('workers', (t) =>
  t.field({
    ...of([Worker])('Worker processes that are alive. Requires the MANAGE scope.'),
    resolve: (_root, _args, { db }) => listWorkers(db),
  }),
)
