import type { IncomingMessage, ServerResponse } from 'node:http'

import { toClientError } from '../../graphql/errors.ts'
import { sendError } from '../pages/pages.ts'
import type { Transport } from '../transport.ts'

/** The metrics of this process as text. */
export interface MetricsPage {
  readonly contentType: string
  text(): Promise<string>
}

export async function sendMetrics(response: ServerResponse, { contentType, text }: MetricsPage): Promise<void> {
  const body = await text()
  response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' })
  response.end(body)
}

/**
 * Serves metrics next to the API. They concern all tenants, so the client must pass `check`, whose error becomes the
 * answer.
 */
export function createMetricsEndpoint<Viewer>(
  { identify, log }: Transport<Viewer>,
  { check, ...page }: MetricsPage & { readonly check: (viewer: Viewer) => void },
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async ({ headers }, response) => {
    try {
      check(await identify(headers.authorization ?? null, headers.host))
    } catch (error) {
      const { code, message } = toClientError(error, log)
      const status = code === 'UNAUTHENTICATED' ? 401 : code === 'FORBIDDEN' ? 403 : code === 'UNAVAILABLE' ? 503 : 500
      return sendError(response, status, message, code)
    }
    await sendMetrics(response, page)
  }
}
