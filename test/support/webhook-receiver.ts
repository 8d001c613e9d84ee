import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { Webhook } from 'standardwebhooks'

export interface ReceivedDelivery {
  readonly id: string
  readonly body: string
  readonly event: any
  readonly headers: IncomingHttpHeaders
}

export interface Receiver {
  readonly url: string
  readonly received: readonly ReceivedDelivery[]
  /** What the receiver answers, at once or when the promise is kept. Defaults to 204. */
  answer: (delivery: ReceivedDelivery) => number | Promise<number>
  /** Waits until the receiver has answered requests that fit. */
  until(fits: (received: readonly ReceivedDelivery[]) => boolean): Promise<readonly ReceivedDelivery[]>
  close(): Promise<void>
}

/** Receives webhooks on loopback, and redirects whatever is answered with 302 to itself. */
export async function startReceiver(): Promise<Receiver> {
  const received: ReceivedDelivery[] = []
  const waiting = new Set<() => void>()
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { headers } = request
    const delivery = { id: String(headers['webhook-id']), body, event: JSON.parse(body), headers }
    const status = await receiver.answer(delivery)
    received.push(delivery)
    response.writeHead(status, status === 302 ? { location: receiver.url } : {}).end(status < 300 ? '' : 'not today')
    for (const check of waiting) check()
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answer: () => 204,
    until: (fits) =>
      new Promise((resolve) => {
        const check = () => {
          if (!fits(received)) return
          waiting.delete(check)
          resolve(received)
        }
        waiting.add(check)
        check()
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return receiver
}

/** Throws unless the delivery carries a signature of the secret. */
export function verify(secret: string, { body, headers }: ReceivedDelivery): void {
  new Webhook(secret).verify(body, headers as Record<string, string>)
}
