import { builder } from '../builder.ts'
import type { RateLimit as RateLimitShape } from '../context/context.ts'
import { implement, int } from '../fields.ts'

const RateLimit = builder.objectRef<RateLimitShape>('RateLimit')
implement(RateLimit, {
  description: 'What the limits leave to a viewer, and what an operation costs.',
  fields: () => ({
    cost: int('Cost of this operation: the fields of its result if every list is full.'),
    costLimit: int('The most that one operation may cost.'),
    requestsPerSecond: int.orNull(
      'Requests per second that the key may send to this process. Null if they are not limited.',
    ),
    remaining: int.orNull(
      'Requests that this process would accept from the key at this moment: at most what two seconds allow. Null if they are not limited.',
    ),
  }),
})

builder.queryField('rateLimit', (t) =>
  t.field({
    type: RateLimit,
    description:
      'What the limits leave to this viewer, and what this operation costs. With the header `x-holdpoint-cost: 1`, every answer has the same in `extensions.cost`.',
    resolve: (_root, _args, { rateLimit }) => rateLimit!(),
  }),
)
