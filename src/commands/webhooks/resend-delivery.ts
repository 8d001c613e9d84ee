import type { Viewer } from '../../domain/access/viewer.ts'
import { badUserInput } from '../../domain/errors.ts'
import type { WebhookDelivery } from '../../domain/webhooks/webhook.ts'
import { transact } from '../../store/database/transact.ts'
import { insertTriedDelivery, lockDelivery, noteOutcome, resetDelivery } from '../../store/webhooks/deliveries.ts'
import { findWebhooks } from '../../store/webhooks/webhooks.ts'
import type { CommandContext, IdInput } from '../command-context.ts'
import { found, foundOne } from '../found.ts'
import { recordAct } from '../record-change.ts'
import { attemptDelivery } from './attempt-delivery.ts'

/** The same delivery once more, with the same id. Its attempts start again. */
export function resendWebhookDelivery(
  context: CommandContext,
  viewer: Viewer,
  { deliveryId: id }: { readonly deliveryId: string },
): Promise<WebhookDelivery> {
  return transact(context, async (trx) => {
    const delivery = found('WebhookDelivery', id, await lockDelivery(trx, viewer, id))
    if (delivery.status === 'PENDING')
      throw badUserInput(
        'input.deliveryId',
        'It is PENDING and will be sent. Only DELIVERED and DEAD ones are sent again.',
      )
    await recordAct(context, trx, viewer, { action: 'resendWebhookDelivery', subject: ['Webhook', delivery.webhookId] })
    return resetDelivery(trx, id, context.clock.now())
  })
}

/** Sends a PING at once, and stores it with its outcome. There is no second attempt. */
export async function testWebhook(context: CommandContext, viewer: Viewer, { id }: IdInput): Promise<WebhookDelivery> {
  const { clock, ids, publicUrl = '' } = context
  const webhook = await foundOne('Webhook', id, findWebhooks(context.db, viewer, [id]))
  const createdAt = clock.now()
  const delivery: WebhookDelivery = {
    ...{ id: ids.next(), tenantId: webhook.tenantId, webhookId: id, event: 'PING', publicUrl, createdAt },
    payload: { type: 'PING', timestamp: createdAt.toISOString(), data: {} },
    ...{ status: 'PENDING', attempts: 0, nextAttemptAt: null, responseStatus: null, error: null, deliveredAt: null },
  }
  const outcome = await attemptDelivery(context, webhook, delivery, { now: createdAt })
  return transact(context, async (trx) => {
    await noteOutcome(trx, id, outcome, delivery.id)
    await recordAct(context, trx, viewer, { action: 'testWebhook', subject: ['Webhook', id] })
    return insertTriedDelivery(trx, delivery, outcome, clock.now())
  })
}
