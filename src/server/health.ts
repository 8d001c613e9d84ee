import type { ServerResponse } from 'node:http'

import type { Log } from '../util/log.ts'
import { sendJson } from './pages.ts'

/** The process answers. */
export function sendLiveness(response: ServerResponse): void {
  sendJson(response, 200, { status: 'ok' })
}

/** It can do its work, too: else a load balancer should look elsewhere. */
export async function sendReadiness(
  response: ServerResponse,
  ready: () => Promise<boolean>,
  { log }: { readonly log: Log },
): Promise<void> {
  const isReady = await ready().catch((error: unknown) => {
    log.warn({ err: error }, 'not ready')
    return false
  })
  sendJson(response, isReady ? 200 : 503, { status: isReady ? 'ok' : 'unavailable' })
}
