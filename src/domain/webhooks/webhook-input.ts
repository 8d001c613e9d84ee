import type { Json } from '../../util/json.ts'
import { badUserInput } from '../errors.ts'
import { checkedCount, mergeFields, unchecked, type Given } from '../input.ts'
import { checkedHeaders, checkedHttpUrl } from '../tools/tool-input.ts'
import type { WebhookEvent, WebhookSettings } from './webhook.ts'

/** Settings of a webhook. Omitted fields stay unchanged. */
export interface WebhookInput {
  readonly url?: Given<string>
  readonly events?: Given<readonly WebhookEvent[]>
  readonly agentIds?: Given<readonly string[]>
  readonly headers?: Given<Json>
  readonly enabled?: Given<boolean>
}

/** `headers` are not encrypted yet if they were given. */
export function mergeWebhook(current: WebhookSettings, input: WebhookInput): WebhookSettings {
  return mergeFields('input', input, {
    current,
    defaults: { agentIds: null, headers: {}, enabled: true },
    checks: {
      url: checkedHttpUrl,
      events: checkedEvents,
      agentIds: checkedAgents,
      headers: checkedOwnHeaders,
      enabled: unchecked,
    },
  })
}

function checkedEvents(field: string, events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  if (events.length === 0) throw badUserInput(field, 'It is empty. Expected at least one event.')
  return [...new Set(events)]
}

function checkedAgents(field: string, ids: readonly string[]): readonly string[] {
  checkedCount(field, ids, { max: 100 })
  return [...new Set(ids)]
}

/** Headers that every delivery has, or that belong to the connection. */
const reserved =
  /^(webhook-.*|content-type|content-length|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect)$/i

function checkedOwnHeaders(field: string, value: Json): Record<string, string> {
  const headers = checkedHeaders(field, value)
  const taken = Object.keys(headers).find((name) => reserved.test(name))
  if (taken !== undefined) throw badUserInput(`${field}.${taken}`, 'The server sets this header itself. Remove it.')
  return headers
}
