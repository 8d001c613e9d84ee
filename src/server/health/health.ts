import type { ServerResponse } from 'node:http'

import type { Log } from '../../util/log.ts'
import { sendJson } from '../pages/pages.ts'

/** Whether the process can do its work. A text is the reason why it cannot. */
export type Ready = () => Promise<boolean | string>

/** The process answers. */
export function sendLiveness(response: ServerResponse): void {
  sendJson(response, 200, { status: 'ok' })
}

/** A check that takes longer counts as failed, so that the answer comes within a second. It goes on for later requests. */
const checkMs = 800

const tooSlow = `the database has not answered within ${checkMs} ms`

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
    let timer: NodeJS.Timeout | undefined
    const isLate = new Promise<string>((resolve) => (timer = setTimeout(resolve, checkMs, tooSlow)))
    const isReady = await Promise.race([(checking ??= check()), isLate])
    clearTimeout(timer)
    if (isReady === true) return sendJson(response, 200, { status: 'ok' })
    sendJson(response, 503, { status: 'unavailable', ...(isReady !== false && { reason: isReady }) })
  }
}
