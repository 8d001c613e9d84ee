import type { Worker as DomainWorker } from '../domain/worker.ts'
import { encodeId } from '../domain/ids.ts'
import { listWorkers } from '../store/workers/workers.ts'
import { builder } from './builder.ts'
import { Node } from './node.ts'

const Worker = builder.objectRef<DomainWorker>('Worker')
Worker.implement({
  description: 'A process that drives runs.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description:
        'Globally unique. A process gets a new one when it starts, and when it loses its connection to the database.',
      resolve: (worker) => encodeId('Worker', worker.id),
    }),
    hostname: t.exposeString('hostname', { description: 'Name of the machine.' }),
    version: t.exposeString('version', { description: 'Version of the server software.' }),
    capacity: t.exposeInt('capacity', { description: 'Maximum number of runs at the same time.' }),
    activeRunCount: t.exposeInt('activeRunCount', { description: 'Number of runs in progress.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When the process started.' }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      description: 'Time of the last heartbeat. After 30 seconds without one, other workers take over its runs.',
    }),
  }),
})

builder.queryField('workers', (t) =>
  t.field({
    type: [Worker],
    description: 'Worker processes that are alive. Requires the MANAGE scope.',
    resolve: (_root, _args, { db }) => listWorkers(db),
  }),
)
