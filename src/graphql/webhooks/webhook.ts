import { encodeId } from '../../domain/ids.ts'
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
import { connectionType, pageArguments, pageComplexity } from '../connection.ts'
import { describedEnum } from '../described-enum.ts'
import { Node, queryById } from '../node.ts'
import { Webhook, WebhookDelivery } from '../refs.ts'

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

WebhookDelivery.implement({
  description:
    'One event for one webhook. It is stored in the transaction of what it tells, and delivered at least once; the deliveries of a conversation are sent in order.',
  interfaces: [Node],
  fields: (t) => ({
    event: t.expose('event', { type: WebhookEvent, description: 'What it tells.' }),
    status: t.expose('status', { type: DeliveryStatus, description: 'How far it is.' }),
    attempts: t.exposeInt('attempts', { description: 'How many times it was sent, including an attempt under way.' }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is sent next, not in the future if it is being sent. Null unless it is PENDING.',
    }),
    responseStatus: t.exposeInt('responseStatus', {
      nullable: true,
      description: 'HTTP status of the last answer. Null if there was no answer.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Why the last attempt failed. Null if it succeeded or there was none.',
    }),
    payload: t.field({
      type: 'JSON',
      description: 'The whole body: `type`, `timestamp` and `data`. The same in every attempt.',
      resolve: ({ payload, publicUrl }, _args, context) =>
        payloadWithUrl(payload, publicUrl ?? context.publicUrl ?? null) as unknown as Json,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the event happened.' }),
    deliveredAt: t.expose('deliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the receiver accepted it. Null until then.',
    }),
  }),
})

Webhook.implement({
  description:
    'An address that receives events by POST, signed as standardwebhooks.com says: `webhook-id`, `webhook-timestamp`, `webhook-signature`.',
  interfaces: [Node],
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Where events are sent.' }),
    events: t.field({ type: [WebhookEvent], description: 'Which events are sent.', resolve: ({ events }) => events }),
    agentIds: t.idList({
      nullable: true,
      description: 'Ids of the agents whose events are sent. Null means all.',
      resolve: ({ agentIds }) => agentIds?.map((id) => encodeId('Agent', id)) ?? null,
    }),
    enabled: t.exposeBoolean('enabled', {
      description:
        'Whether it is told anything. While it is disabled, events are not stored, and deliveries that were not sent wait. A receiver that answers 410 disables it.',
    }),
    headerNames: t.stringList({
      description: 'Names of the headers that every delivery has. Their values are secrets.',
      resolve: ({ headers }) => Object.keys(headers),
    }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description: 'Why the last delivery failed. Null if it succeeded or there was none.',
    }),
    deliveries: t.field({
      type: connectionType('WebhookDelivery', WebhookDelivery),
      description: 'Deliveries, newest first. Those that ended are kept for the time in HOLDPOINT_KEEP_DELIVERIES.',
      args: {
        ...pageArguments,
        status: t.arg({ type: DeliveryStatus, description: 'Deliveries with this status. Omit it for all.' }),
      },
      complexity: pageComplexity,
      resolve: ({ id: webhookId }, { status, ...page }, { db, viewer }) =>
        listDeliveriesPage(db, viewer, { webhookId, status }, page),
    }),
    createdBy: t.expose('createdBy', { type: Actor, description: 'Who created the webhook.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the webhook was created.' }),
  }),
})

queryById(Webhook, 'Webhook')

builder.queryField('webhooks', (t) =>
  t.field({
    type: connectionType('Webhook', Webhook),
    description: 'Webhooks, oldest first.',
    args: pageArguments,
    complexity: pageComplexity,
    resolve: (_root, page, { db, viewer }) => listWebhooksPage(db, viewer, page),
  }),
)
