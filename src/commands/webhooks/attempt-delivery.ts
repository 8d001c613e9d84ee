import { encodeId } from '../../domain/ids.ts'
import { openHeaders } from '../../domain/tools/sealed-headers.ts'
import {
  payloadWithUrl,
  type AttemptOutcome,
  type Webhook,
  type WebhookDelivery,
} from '../../domain/webhooks/webhook.ts'
import { cutText, storableText } from '../../util/json.ts'
import { toldToOperators, type GuardedNetwork } from '../../util/network-guard.ts'
import type { SecretBox } from '../../util/secret-box.ts'
import { signedHeaders } from '../../util/webhook-signature.ts'

const timeoutMs = 15_000
/** How much of a refusal is kept. */
const shownCharacters = 500

export interface SendContext {
  readonly network: GuardedNetwork
  readonly secrets: SecretBox
}

/** Sends a delivery once. Whatever goes wrong is an outcome. `signal` gives up before the time is over. */
export async function attemptDelivery(
  { network, secrets }: SendContext,
  webhook: Webhook,
  { id, payload, publicUrl }: Pick<WebhookDelivery, 'id' | 'payload' | 'publicUrl'>,
  { now, signal }: { readonly now: Date; readonly signal?: AbortSignal },
): Promise<AttemptOutcome> {
  const timeout = AbortSignal.timeout(timeoutMs)
  let status: number | null = null
  try {
    const body = JSON.stringify(payloadWithUrl(payload, publicUrl))
    const { oldSecret, tenantId } = webhook
    const sealed = [webhook.secret, ...(oldSecret && oldSecret.until > now ? [oldSecret.sealed] : [])]
    const keys = sealed.map((secret) => secrets.open(secret, tenantId))
    const response = await network.fetch(webhook.url, {
      method: 'POST',
      body,
      headers: {
        ...openHeaders(secrets, webhook.headers, tenantId),
        'content-type': 'application/json',
        ...signedHeaders(keys, { id: encodeId('WebhookDelivery', id), at: now, body }),
      },
      signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
    })
    status = response.status
    const reading = beginningOf(response)
    if (response.ok) {
      // The status is all that counts. Reading on keeps the connection for the next delivery.
      reading.catch(() => undefined)
      return { ok: true, status }
    }
    const said = await reading
    const isRedirect = status >= 300 && status < 400
    const refusal = isRedirect ? 'Redirects are not followed.' : said
    return { ok: false, status, error: `The receiver answered ${status}${refusal === '' ? '.' : `: ${refusal}`}` }
  } catch (error) {
    const isLate = timeout.aborted && !signal?.aborted
    const message = isLate ? `The receiver did not answer within ${timeoutMs / 1000} s.` : toldToOperators(error)
    return { ok: false, status, error: cutText(storableText(message), shownCharacters) }
  }
}

/** The rest of an answer is not read: it may be endless. */
async function beginningOf(response: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > shownCharacters) break
  }
  return cutText(storableText(text.trim()), shownCharacters)
}
