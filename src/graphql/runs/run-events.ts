import { listEvents } from '../../live/list-events.ts'
import type { EntryEvent } from '../../live/run-tail.ts'
import { type Page, pageSize } from '../../store/database/page.ts'
import { builder } from '../builder.ts'
import { pageComplexity, PageInfo } from '../connection.ts'
import { requireRunCursor } from '../cursor.ts'
import { args, cursor, implement, int, of } from '../fields.ts'
import { Run } from '../refs.ts'
import { EventType, RunEvent } from './run-event.ts'
import { filterOf } from './subscriptions.ts'

/** A log is not counted. */
type EventPage = Omit<Page<EntryEvent>, 'countAll'>

const RunEventEdge = builder.objectRef<EntryEvent>('RunEventEdge')
implement(RunEventEdge, {
  description: 'One event in a page.',
  fields: (t) => ({
    node: t.field({ type: RunEvent, description: 'The event.', resolve: (event) => event }),
    cursor: cursor('Cursor of the event.'),
  }),
})

const RunEventConnection = builder.objectRef<EventPage>('RunEventConnection')
implement(RunEventConnection, {
  description: "A page of a run's stored events.",
  fields: (t) => ({
    nodes: t.field({
      ...of([RunEvent])('Events of the page, oldest first.'),
      complexity: { field: 0, multiplier: 1 },
      resolve: (page) => page.nodes,
    }),
    edges: t.field({
      ...of([RunEventEdge])('Events of the page, each with its cursor.'),
      complexity: { field: 0, multiplier: 1 },
      resolve: (page) => page.nodes,
    }),
    pageInfo: t.field({
      ...of(PageInfo)('Position of the page. Its cursors are those of the events.'),
      resolve: (page) => page,
    }),
  }),
})

builder.objectField(Run, 'events', (t) =>
  t.field({
    type: RunEventConnection,
    description: [
      'Stored events after `after`, oldest first: what `runEvents` replays, as a page. The cursors are those of the events,',
      'so a cursor of one works in the other.',
    ].join('\n'),
    args: args({
      first: int('Page size. Defaults to 50, at most 200.'),
      after: cursor(
        'List only events after this cursor. Inside a message, this is the next stored event. Defaults to the start of the run.',
      ),
      types: of([EventType])(
        'Event types to list. Deltas, QUEUE_CHANGED and BRANCH_CHANGED match nothing, because they are not stored. Null means all.',
      ),
    }),
    complexity: pageComplexity,
    async resolve(run, { first, after, types }, context): Promise<EventPage> {
      const limit = pageSize({ first })
      const cursor = typeof after === 'string' ? requireRunCursor(run, after) : undefined
      const { types: wanted } = filterOf({ deltas: false, types }, context)
      const events = await listEvents(context.db, run, { after: cursor?.seq ?? 0, limit: limit + 1, types: wanted })
      const nodes = events.slice(0, limit)
      return {
        nodes,
        cursors: nodes.map((event) => event.cursor),
        hasNextPage: events.length > limit,
        hasPreviousPage: cursor !== undefined,
        endCursor: nodes.at(-1)?.cursor ?? after ?? null,
      }
    },
  }),
)
