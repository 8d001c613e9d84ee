import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A proxy between servers and their Postgres, so that a test can make the database unavailable. */
export interface PostgresProxy {
  /** The database's address through the proxy. */
  readonly url: string
  /** Breaks every connection, and every new one, until `restore`. */
  cut(): void
  restore(): void
  close(): Promise<void>
}

export async function startPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const pairs = new Set<readonly [Socket, Socket]>()
  let isCut = false
  // It keeps listening, because another program could take the port meanwhile.
  const server = createServer((client) => {
    client.on('error', () => {})
    if (isCut) return client.destroy()
    const postgres = connect(Number(target.port), target.hostname)
    const pair = [client, postgres] as const
    pairs.add(pair)
    for (const [from, to] of [pair, [postgres, client]] as const) {
      from.on('error', () => {})
      from.on('data', (data) => to.write(data))
      from.on('close', () => {
        pairs.delete(pair)
        to.destroy()
      })
    }
    return undefined
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)

  function cutAll(): void {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  }

  return {
    url: url.href,
    cut() {
      isCut = true
      cutAll()
    },
    restore() {
      isCut = false
    },
    async close() {
      cutAll()
      server.close()
      await once(server, 'close')
    },
  }
}
