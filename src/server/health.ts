import type { ServerResponse } from 'node:http'

import type { Log } from '../util/log.ts'
import { sendJson } from './pages.ts'

/** The process answers. */
export function sendLiveness(response: ServerResponse): void {
  sendJson(response, 200, { status: 'ok' })
}

/** Tells a load balancer whether this process can do its work. However many ask at once, one check is made. */
export function createReadiness(
  ready: () => Promise<boolean>,
  { log }: { readonly log: Log },
): (response: ServerResponse) => Promise<void> {
  let checking: Promise<boolean> | undefined

  async function check(): Promise<boolean> {
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
    sendJson(response, isReady ? 200 : 503, { status: isReady ? 'ok' : 'unavailable' })
  }
}
