import { z } from 'zod'

import { defineTool } from '../../src/index.ts' // In your program: 'holdpoint'

const orders = new Map([['A-17', { item: 'a kettle', price: 250 }]])

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order by its number.',
  parameters: z.object({ orderId: z.string() }),
  run: ({ orderId }) => orders.get(orderId) ?? 'There is no such order.',
})

const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refunds an order.',
  parameters: z.object({ orderId: z.string(), amount: z.number().positive() }),
  // Small refunds happen at once. Larger ones wait for a person, however long that takes.
  approvalCondition: { properties: { amount: { exclusiveMinimum: 100 } } },
  run: ({ orderId, amount }, { idempotencyKey }) => `Refunded ${amount} for ${orderId} (${idempotencyKey}).`,
})

export const tools = [findOrder, refundOrder]
