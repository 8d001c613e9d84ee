import { defineTool } from 'holdpoint'
import { z } from 'zod'

/** The model sees the name, the description and the parameters. `run` gets arguments that fit the schema. */
const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refunds an order of a customer.',
  parameters: z.object({ orderId: z.string(), amount: z.number().positive() }),
  // A call waits for a person if its arguments satisfy this JSON Schema: refunds above 100.
  approvalCondition: { properties: { amount: { exclusiveMinimum: 100 } } },
  run: ({ orderId, amount }, { idempotencyKey }) => {
    console.log(`refund ${amount} for ${orderId} (${idempotencyKey})`)
    return { orderId, refunded: amount }
  },
})

export const tools = [refundOrder]
