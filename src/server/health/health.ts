import type { ServerResponse } from 'node:http'

import type { Log } from '../../util/log.ts'
import { sendJson } from '../pages/pages.ts'

/** Whether the process can do its work. A text is the reason why it cannot. */
export type Ready = () => Promise<boolean | string>

/** The process answers. */
export function sendLiveness(response: ServerResponse): void {
  sendJson(response, 200, { status: 'ok' })
}

/** Tells a load balancer whether this process can do its work. Simultaneous requests share one check. */
export function createReadiness(
  ready: Ready,
  { log }: { readonly log: Log },
): (response: ServerResponse) => Promise<void> {
  let checking: Promise<boolean | string> | undefined

  async function check(): Promise<boolean | string> {
    try {
      return await ready()
    } catch (error) {
      log.warn({ err: error }, 'not ready')
      return false
    } finally {
      checking = undefined
    }
  }

  return async (response) => {
    const isReady = await (checking ??= check())
    if (isReady === true) return sendJson(response, 200, { status: 'ok' })
    sendJson(response, 503, { status: 'unavailable', ...(isReady !== false && { reason: isReady }) })
  }
}
