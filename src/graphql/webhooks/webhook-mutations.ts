import { createWebhook } from '../../commands/webhooks/create-webhook.ts'
import { resendWebhookDelivery, testWebhook } from '../../commands/webhooks/resend-delivery.ts'
import { deleteWebhook, rotateWebhookSecret, updateWebhook } from '../../commands/webhooks/update-webhook.ts'
import { deletion, idempotencyKeyField, idInput, mutation, payload, payloadOf } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { Webhook, WebhookDelivery } from '../refs.ts'
import { WebhookEvent } from './webhook.ts'
import { boolean, id, ids, json, of, string } from '../fields.ts'

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
