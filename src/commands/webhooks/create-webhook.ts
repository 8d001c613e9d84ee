import type { Viewer } from '../../domain/access/viewer.ts'
import { badUserInput } from '../../domain/errors.ts'
import { encodeId } from '../../domain/ids.ts'
import type { Given } from '../../domain/input.ts'
import { sealHeaders } from '../../domain/tools/sealed-headers.ts'
import type { Webhook, WebhookSettings } from '../../domain/webhooks/webhook.ts'
import { mergeWebhook, type WebhookInput } from '../../domain/webhooks/webhook-input.ts'
import { findAgents } from '../../store/agents/agents.ts'
import { findWebhooks, insertWebhook } from '../../store/webhooks/webhooks.ts'
import { createWebhookSecret } from '../../util/webhook-signature.ts'
import type { CommandContext } from '../command-context.ts'
import { createOnce } from '../create-once.ts'
import { allFound } from '../found.ts'
import { changeOf, recordChange } from '../record-change.ts'

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
    await recordChange(context, trx, viewer, changeOf('createWebhook', 'Webhook', null, shownWebhook(webhook)))
    created = secret
    return webhook
  })
  return { webhook, secret: created }
}

/** The address must be reachable as far as can be told now, and the agents must exist. */
export async function checkTargets(
  { db, tools }: Pick<CommandContext, 'db' | 'tools'>,
  viewer: Viewer,
  { url, agentIds }: Partial<Pick<WebhookSettings, 'url' | 'agentIds'>>,
): Promise<void> {
  const fault = url === undefined ? undefined : await tools.faultOfAddress(url)
  if (fault !== undefined) throw badUserInput('input.url', fault)
  if (agentIds && agentIds.length > 0) allFound('Agent', agentIds, await findAgents(db, viewer, agentIds))
}

/** As the audit log shows it: without secrets. */
export function shownWebhook({ id, url, events, agentIds, headers, enabled }: Webhook) {
  const ofAgents = agentIds?.map((agentId) => encodeId('Agent', agentId)) ?? null
  return { id, url, events, agentIds: ofAgents, headerNames: Object.keys(headers), enabled }
}
