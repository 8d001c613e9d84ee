import { createWebhook, deleteWebhook, rotateWebhookSecret, updateWebhook } from '../../commands/webhooks/webhook.ts'
import { resendWebhookDelivery, testWebhook } from '../../commands/webhooks/resend-delivery.ts'
import {
  type DeliveryStatus as DomainDeliveryStatus,
  payloadWithUrl,
  type Webhook as WebhookShape,
  type WebhookDelivery as DeliveryShape,
  type WebhookEvent as DomainWebhookEvent,
} from '../../domain/webhooks/webhook.ts'
import { listDeliveriesPage } from '../../store/webhooks/deliveries.ts'
import { listWebhooksPage } from '../../store/webhooks/webhooks.ts'
import type { Json } from '../../util/json.ts'
import { Actor } from '../access/actor.ts'
import { builder } from '../builder.ts'
import { connectionType, pageOf } from '../connection.ts'
import { describedEnum } from '../described-enum.ts'
import { boolean, id, ids, idsOf, implement, int, json, of, string, time } from '../fields.ts'
import { deletion, idempotencyKeyField, idInput, mutation, payload, payloadOf } from '../mutation.ts'
import { Node, queryById, requireUuid } from '../node.ts'

const WebhookEvent = describedEnum<DomainWebhookEvent>('WebhookEvent', 'What a webhook can be told.', {
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

const WebhookDelivery = builder.objectRef<DeliveryShape>('WebhookDelivery')
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
      ...json('The whole body: `type`, `timestamp` and `data`. The same in every attempt.'),
      resolve: ({ payload, publicUrl }, _args, context) =>
        payloadWithUrl(payload, publicUrl ?? context.publicUrl ?? null) as unknown as Json,
    }),
    createdAt: time('When the event happened.'),
    deliveredAt: time.orNull('When the receiver accepted it. Null until then.'),
  }),
})

const Webhook = builder.objectRef<WebhookShape>('Webhook')
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

const url = 'An http or https address, at most 2,000 characters.'
const events = 'At least one event.'

const optionalFields = {
  agentIds: ids('Agents whose events are sent, at most 100. Null, the default, means all.'),
  headers: json(
    'Headers of every delivery: an object of strings, at most 50. They are stored as secrets. Names that begin with `webhook-`, and those of HTTP itself, are refused.',
  ),
}

/** Ids as the server knows them. */
function decoded<Input extends { readonly agentIds?: readonly string[] | null | undefined }>(input: Input) {
  const { agentIds } = input
  return agentIds ? { ...input, agentIds: agentIds.map((id) => requireUuid('Agent', id)) } : input
}

mutation('createWebhook', {
  description: 'Tells an address what happens. The secret in the answer verifies what is sent, and is shown once.',
  input: {
    description: 'A new webhook.',
    fields: {
      url: string.required(url),
      events: of([WebhookEvent]).required(events),
      ...optionalFields,
      idempotencyKey: idempotencyKeyField,
    },
  },
  result: payloadOf({
    webhook: of(Webhook)('The new webhook.'),
    secret: string.orNull('Verifies the signatures (`whsec_…`). Shown once: null if the same key is used again.'),
  }),
  resolve: (input, context) => createWebhook(context, context.viewer, decoded(input)),
})

mutation('updateWebhook', {
  description: 'Changes a webhook. Deliveries that wait are sent to the new address.',
  input: {
    description: 'Changes to a webhook. Omitted fields stay unchanged.',
    fields: {
      id: id.required('Id of the webhook.'),
      url: string(url),
      events: of([WebhookEvent])(events),
      ...optionalFields,
      enabled: boolean('Whether it is told anything. Defaults to true.'),
    },
  },
  result: payload('webhook', Webhook, 'The changed webhook.'),
  resolve: (input, context) =>
    updateWebhook(context, context.viewer, { ...decoded(input), id: requireUuid('Webhook', input.id) }),
})

mutation('rotateWebhookSecret', {
  description: 'Replaces the secret. For a day, deliveries have a signature of the old one too.',
  input: idInput('Webhook', 'The webhook whose secret to replace.'),
  result: payloadOf({
    webhook: of(Webhook)('The changed webhook.'),
    secret: string('The new secret. Shown once.'),
  }),
  resolve: ({ id }, context) => rotateWebhookSecret(context, context.viewer, { id: requireUuid('Webhook', id) }),
})

deletion('deleteWebhook', {
  description: 'Deletes a webhook with its deliveries. It is told nothing more.',
  kind: 'Webhook',
  command: deleteWebhook,
})

mutation('resendWebhookDelivery', {
  description: 'Sends a delivery again that is not PENDING, with the same id. Its attempts start again.',
  input: {
    description: 'The delivery to send again.',
    fields: { deliveryId: id.required('Id of the delivery.') },
  },
  result: payload('delivery', WebhookDelivery, 'The delivery, which is PENDING now.'),
  resolve: ({ deliveryId }, context) =>
    resendWebhookDelivery(context, context.viewer, { deliveryId: requireUuid('WebhookDelivery', deliveryId) }),
})

mutation('testWebhook', {
  description: 'Sends a PING at once, also to a disabled webhook, and waits for the answer. A failure is DEAD.',
  input: idInput('Webhook', 'The webhook to test.'),
  result: payload('delivery', WebhookDelivery, 'How it went.'),
  resolve: ({ id }, context) => testWebhook(context, context.viewer, { id: requireUuid('Webhook', id) }),
})
