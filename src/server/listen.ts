import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Listening {
  readonly port: number
}

/** Port 0 takes a free port. Rejects with Node's own error if the address is not available. */
export function listen(server: Server, host: string, port: number): Promise<Listening> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve({ port: (server.address() as AddressInfo).port })
    })
  })
}
