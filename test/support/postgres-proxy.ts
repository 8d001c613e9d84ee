import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A proxy between servers and their Postgres, so that a test can make the database unavailable. */
export interface PostgresProxy {
  /** The database's address through the proxy. */
  readonly url: string
  /** Breaks every connection, and every new one, until `restore`. */
  cut(): void
  /**
   * Passes nothing on in either direction until `restore`, and closes nothing, as if all packets were lost. What was
   * sent meanwhile arrives then, also if its sender has closed the connection.
   */
  silence(): void
  restore(): void
  /** Leads new connections to another server. Those that are open stay. */
  move(databaseUrl: string): void
  close(): Promise<void>
}

/** `onSent` is called with everything that is sent to the database. */
export async function startPostgresProxy(
  databaseUrl: string,
  onSent: (data: Buffer) => void = () => {},
): Promise<PostgresProxy> {
  let target = new URL(databaseUrl)
  const pairs = new Set<readonly [Socket, Socket]>()
  let isCut = false
  let isSilent = false
  // It keeps listening, because another program could take the port meanwhile.
  const server = createServer((client) => {
    client.on('error', () => {})
    if (isCut) return client.destroy()
    const postgres = connect(Number(target.port), target.hostname)
    const pair = [client, postgres] as const
    pairs.add(pair)
    client.on('data', onSent)
    for (const [from, to] of [pair, [postgres, client]] as const) {
      from.on('error', () => {})
      from.on('data', (data) => to.write(data))
      if (isSilent) from.pause()
      from.on('end', () => to.end())
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

  function setSilent(silent: boolean): void {
    isSilent = silent
    for (const pair of pairs) for (const socket of pair) socket[silent ? 'pause' : 'resume']()
  }

  return {
    url: url.href,
    cut() {
      isCut = true
      cutAll()
    },
    silence: () => setSilent(true),
    restore() {
      isCut = false
      setSilent(false)
    },
    move: (to) => void (target = new URL(to)),
    async close() {
      cutAll()
      server.close()
      await once(server, 'close')
    },
  }
}
