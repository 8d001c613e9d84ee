import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

import { Webhook, WebhookVerificationError } from 'standardwebhooks'

/** The parts of an event that an approval needs. docs/webhooks.md has all of them. */
export interface Event {
  readonly type: string
  readonly data: {
    readonly run: { readonly id: string; readonly agentName: string; readonly url: string | null }
    readonly toolCall?: { readonly id: string; readonly name: string; readonly arguments: unknown }
    readonly decision?: { readonly kind: string; readonly decidedBy: { readonly name: string } | null }
  }
}

/** Sends an operation to Holdpoint and returns its data. */
export async function holdpoint(key: string, query: string, input: object): Promise<any> {
  const response = await fetch(process.env['HOLDPOINT_URL'] ?? 'http://127.0.0.1:4000/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ query, variables: { input } }),
  })
  const { data, errors } = (await response.json()) as { data?: unknown; errors?: readonly { message: string }[] }
  if (errors) throw new Error(errors.map(({ message }) => message).join(' '))
  return data
}

/** What was handled. A program with several processes keeps this in its database. */
const handled = new Set<string>()

/**
 * Verifies a delivery and handles it. Holdpoint tries again until it is answered with 2xx, and may deliver twice: the
 * id says so.
 */
export async function receive(
  secret: string,
  request: IncomingMessage,
  response: ServerResponse,
  handle: (event: Event, id: string) => Promise<void>,
): Promise<void> {
  const body = await text(request)
  const id = String(request.headers['webhook-id'])
  try {
    const event = new Webhook(secret).verify(body, request.headers as Record<string, string>) as Event
    if (!handled.has(id)) await handle(event, id)
    handled.add(id)
    response.writeHead(204).end()
  } catch (error) {
    response.writeHead(error instanceof WebhookVerificationError ? 401 : 503).end(String(error))
  }
}
