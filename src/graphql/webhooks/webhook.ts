import {
  payloadWithUrl,
  type DeliveryStatus as DomainDeliveryStatus,
  type WebhookEvent as DomainWebhookEvent,
} from '../../domain/webhooks/webhook.ts'
import type { Json } from '../../util/json.ts'
import { listDeliveriesPage } from '../../store/webhooks/deliveries.ts'
import { listWebhooksPage } from '../../store/webhooks/webhooks.ts'
import { Actor } from '../access/actor.ts'
import { builder } from '../builder.ts'
import { connectionType, pageOf } from '../connection.ts'
import { describedEnum } from '../described-enum.ts'
import { Node, queryById } from '../node.ts'
import { Webhook, WebhookDelivery } from '../refs.ts'
import { boolean, idsOf, implement, int, of, string, time } from '../fields.ts'

export const WebhookEvent = describedEnum<DomainWebhookEvent>('WebhookEvent', 'What a webhook can be told.', {
  RUN_ENDED: 'A run was completed, failed or cancelled. A run that is retried ends again.',
  APPROVAL_REQUESTED: 'A tool call waits for approval.',
  APPROVAL_DECIDED: 'A person decided about a tool call.',
  APPROVAL_EXPIRED: 'A tool call was denied because nobody decided in time.',
  CLIENT_CALL_REQUESTED: 'A tool call waits for a client that runs it.',
  BUDGET_REACHED: 'A budget stopped or paused a run.',
  SCHEDULE_FAILED: 'A due time of a schedule made no run.',
  PING: 'A test by `testWebhook`.',
})

const DeliveryStatus = describedEnum<DomainDeliveryStatus>('WebhookDeliveryStatus', 'How far a delivery is.', {
  PENDING: 'It will be sent, or sent again.',
  DELIVERED: 'The receiver answered with a status of 2xx.',
  DEAD: 'The server gave up after the last attempt. `resendWebhookDelivery` tries again.',
})

implement(WebhookDelivery, {
  description:
    'One event for one webhook. It is stored in the transaction of what it tells, and delivered at least once; the deliveries of a conversation are sent in order.',
  interfaces: [Node],
  fields: (t) => ({
    event: of(WebhookEvent)('What it tells.'),
    status: of(DeliveryStatus)('How far it is.'),
    attempts: int('How many times it was sent, including an attempt under way.'),
    nextAttemptAt: time.orNull(
      'When it is sent next, not in the future if it is being sent. Null unless it is PENDING.',
    ),
    responseStatus: int.orNull('HTTP status of the last answer. Null if there was no answer.'),
    error: string.orNull('Why the last attempt failed. Null if it succeeded or there was none.'),
    payload: t.field({
      type: 'JSON',
      description: 'The whole body: `type`, `timestamp` and `data`. The same in every attempt.',
      resolve: ({ payload, publicUrl }, _args, context) =>
        payloadWithUrl(payload, publicUrl ?? context.publicUrl ?? null) as unknown as Json,
    }),
    createdAt: time('When the event happened.'),
    deliveredAt: time.orNull('When the receiver accepted it. Null until then.'),
  }),
})

implement(Webhook, {
  description:
    'An address that receives events by POST, signed as standardwebhooks.com says: `webhook-id`, `webhook-timestamp`, `webhook-signature`.',
  interfaces: [Node],
  fields: (t) => ({
    url: string('Where events are sent.'),
    events: of([WebhookEvent])('Which events are sent.'),
    agentIds: idsOf('Agent', 'agentIds', 'Ids of the agents whose events are sent. Null means all.'),
    enabled: boolean(
      'Whether it is told anything. While it is disabled, events are not stored, and deliveries that were not sent wait. A receiver that answers 410 disables it.',
    ),
    headerNames: t.stringList({
      description: 'Names of the headers that every delivery has. Their values are secrets.',
      resolve: ({ headers }) => Object.keys(headers),
    }),
    lastError: string.orNull('Why the last delivery failed. Null if it succeeded or there was none.'),
    deliveries: t.field({
      ...pageOf(
        connectionType('WebhookDelivery', WebhookDelivery),
        'Deliveries, newest first. Those that ended are kept for the time in HOLDPOINT_KEEP_DELIVERIES.',
        { status: of(DeliveryStatus)('Deliveries with this status. Omit it for all.') },
      ),
      resolve: ({ id: webhookId }, { status, ...page }, { db, viewer }) =>
        listDeliveriesPage(db, viewer, { webhookId, status }, page),
    }),
    createdBy: of(Actor)('Who created the webhook.'),
    createdAt: time('When the webhook was created.'),
  }),
})

queryById(Webhook, 'Webhook')

builder.queryField('webhooks', (t) =>
  t.field({
    ...pageOf(connectionType('Webhook', Webhook), 'Webhooks, oldest first.'),
    resolve: (_root, page, { db, viewer }) => listWebhooksPage(db, viewer, page),
  }),
)
