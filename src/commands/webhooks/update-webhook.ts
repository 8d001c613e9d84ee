import type { Viewer } from '../../domain/access/viewer.ts'
import { sealHeaders } from '../../domain/tools/sealed-headers.ts'
import type { Webhook } from '../../domain/webhooks/webhook.ts'
import { mergeWebhook, type WebhookInput } from '../../domain/webhooks/webhook-input.ts'
import { transact } from '../../store/database/transact.ts'
import { deleteWebhook as deleteStored, findWebhooks, lockWebhook, setWebhook } from '../../store/webhooks/webhooks.ts'
import { createWebhookSecret } from '../../util/webhook-signature.ts'
import type { CommandContext } from '../command-context.ts'
import { found } from '../found.ts'
import { changeOf, recordAct, recordChange } from '../record-change.ts'
import { checkTargets, shownWebhook } from './create-webhook.ts'

export interface UpdateWebhookInput extends WebhookInput {
  readonly id: string
}

/** Omitted fields stay unchanged. What waits is sent to the new address. */
export async function updateWebhook(
  context: CommandContext,
  viewer: Viewer,
  { id, ...input }: UpdateWebhookInput,
): Promise<Webhook> {
  const [known] = await findWebhooks(context.db, viewer, [id])
  const given = mergeWebhook(found('Webhook', id, known), input)
  await checkTargets(context, viewer, { ...(input.url && { url: given.url }), ...(input.agentIds && given) })
  return transact(context, async (trx) => {
    const before = found('Webhook', id, await lockWebhook(trx, viewer, id))
    const settings = mergeWebhook(before, input)
    const sealed = { tenantId: before.tenantId, stored: before.headers }
    const headers = input.headers ? sealHeaders(context.secrets, settings.headers, sealed) : settings.headers
    const after = { ...before, ...settings, headers }
    await setWebhook(trx, after)
    const change = changeOf('updateWebhook', 'Webhook', shownWebhook(before), shownWebhook(after))
    await recordChange(context, trx, viewer, change)
    return after
  })
}

/** How long the secret before the last rotation signs too. */
const overlapMs = 86_400_000

export function rotateWebhookSecret(
  context: CommandContext,
  viewer: Viewer,
  { id }: { readonly id: string },
): Promise<{ readonly webhook: Webhook; readonly secret: string }> {
  return transact(context, async (trx) => {
    const before = found('Webhook', id, await lockWebhook(trx, viewer, id))
    const secret = createWebhookSecret()
    const until = new Date(context.clock.now().getTime() + overlapMs)
    const webhook = {
      ...before,
      secret: context.secrets.seal(secret, before.tenantId),
      oldSecret: { sealed: before.secret, until },
    }
    await setWebhook(trx, webhook)
    await recordAct(context, trx, viewer, { action: 'rotateWebhookSecret', subject: ['Webhook', id] })
    return { webhook, secret }
  })
}

/** What was not sent yet is not sent any more. */
export async function deleteWebhook(
  context: CommandContext,
  viewer: Viewer,
  { id }: { readonly id: string },
): Promise<void> {
  await transact(context, async (trx) => {
    const webhook = found('Webhook', id, await lockWebhook(trx, viewer, id))
    await deleteStored(trx, id)
    await recordChange(context, trx, viewer, changeOf('deleteWebhook', 'Webhook', shownWebhook(webhook), null))
  })
}
