import type { Viewer } from '../../domain/access/viewer.ts'
import { badUserInput } from '../../domain/errors.ts'
import type { Given } from '../../domain/input.ts'
import { sealHeaders } from '../../domain/tools/sealed-headers.ts'
import type { Webhook, WebhookSettings } from '../../domain/webhooks/webhook.ts'
import { mergeWebhook, type WebhookInput } from '../../domain/webhooks/webhook-input.ts'
import { findAgents } from '../../store/agents/agents.ts'
import {
  findWebhooks,
  insertWebhook,
  deleteWebhook as deleteStored,
  lockWebhook,
  setWebhook,
} from '../../store/webhooks/webhooks.ts'
import { createWebhookSecret } from '../../util/webhook-signature.ts'
import type { CommandContext, IdInput } from '../command-context.ts'
import { createOnce } from '../create-once.ts'
import { allFound, found, foundOne } from '../found.ts'
import { changeOf, recordChange, recordAct } from '../record-change.ts'
import { transact } from '../../store/database/transact.ts'

export interface CreateWebhookInput extends WebhookInput {
  readonly idempotencyKey?: Given<string>
}

const unset: WebhookSettings = { url: '', events: [], agentIds: null, headers: {}, enabled: true }

/** The secret is null if the request was repeated: only its first answer has it. */
export async function createWebhook(
  context: CommandContext,
  viewer: Viewer,
  input: CreateWebhookInput,
): Promise<{ readonly webhook: Webhook; readonly secret: string | null }> {
  const { tenantId } = viewer
  const settings = mergeWebhook(unset, input)
  let created: string | null = null
  const creation = {
    mutation: 'createWebhook',
    kind: 'Webhook',
    input,
    defaults: { headers: {} },
    find: findWebhooks,
    prepare: () => checkTargets(context, viewer, settings),
  } as const
  const webhook = await createOnce(context, viewer, creation, async (trx) => {
    const secret = createWebhookSecret()
    const webhook: Webhook = {
      ...settings,
      id: context.ids.next(),
      tenantId,
      headers: sealHeaders(context.secrets, settings.headers, { tenantId }),
      secret: context.secrets.seal(secret, tenantId),
      oldSecret: null,
      lastError: null,
      createdBy: viewer.actor,
      createdAt: context.clock.now(),
    }
    await insertWebhook(trx, webhook)
    await recordChange(context, trx, viewer, changeOf('createWebhook', 'Webhook', null, webhook))
    created = secret
    return webhook
  })
  return { webhook, secret: created }
}

/** The address must be reachable as far as can be told now, and the agents must exist. */
async function checkTargets(
  { db, tools }: Pick<CommandContext, 'db' | 'tools'>,
  viewer: Viewer,
  { url, agentIds }: Partial<Pick<WebhookSettings, 'url' | 'agentIds'>>,
): Promise<void> {
  const fault = url === undefined ? undefined : await tools.faultOfAddress(url)
  if (fault !== undefined) throw badUserInput('input.url', fault)
  if (agentIds && agentIds.length > 0) allFound('Agent', agentIds, await findAgents(db, viewer, agentIds))
}

export interface UpdateWebhookInput extends WebhookInput {
  readonly id: string
}

/** Omitted fields stay unchanged. What waits is sent to the new address. */
export async function updateWebhook(
  context: CommandContext,
  viewer: Viewer,
  { id, ...input }: UpdateWebhookInput,
): Promise<Webhook> {
  const given = mergeWebhook(await foundOne('Webhook', id, findWebhooks(context.db, viewer, [id])), input)
  await checkTargets(context, viewer, { ...(input.url && { url: given.url }), ...(input.agentIds && given) })
  return transact(context, async (trx) => {
    const before = found('Webhook', id, await lockWebhook(trx, viewer, id))
    const settings = mergeWebhook(before, input)
    const sealed = { tenantId: before.tenantId, stored: before.headers }
    const headers = input.headers ? sealHeaders(context.secrets, settings.headers, sealed) : settings.headers
    const after = { ...before, ...settings, headers }
    await setWebhook(trx, after)
    await recordChange(context, trx, viewer, changeOf('updateWebhook', 'Webhook', before, after))
    return after
  })
}

/** How long the secret before the last rotation signs too. */
const overlapMs = 86_400_000

export function rotateWebhookSecret(
  context: CommandContext,
  viewer: Viewer,
  { id }: IdInput,
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
export async function deleteWebhook(context: CommandContext, viewer: Viewer, { id }: IdInput): Promise<void> {
  await transact(context, async (trx) => {
    const webhook = found('Webhook', id, await lockWebhook(trx, viewer, id))
    await deleteStored(trx, id)
    await recordChange(context, trx, viewer, changeOf('deleteWebhook', 'Webhook', webhook, null))
  })
}
