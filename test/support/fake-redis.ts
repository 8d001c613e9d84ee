import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * A Redis for tests: a server that speaks RESP 3 and knows what a bus needs. It is as strict as the real one about
 * authentication, commands and their arguments.
 */
export interface FakeRedis {
  /** Contains the password, if there is one. */
  readonly url: string
  /** Commands that it refused, and bytes that are not RESP. */
  readonly refused: readonly string[]
  /** What was published so far. */
  readonly published: readonly { readonly channel: string; readonly payload: string }[]
  /** The number of open connections. */
  connections(): number
  /** Breaks every connection, and every new one, until `restart`. */
  kill(): void
  restart(): void
  /** Keeps connections open but answers nothing, until `restart`. */
  freeze(): void
  close(): Promise<void>
}

interface Client {
  readonly socket: Socket
  readonly channels: Set<string>
  isGreeted: boolean
}

export async function startFakeRedis({ password }: { readonly password?: string } = {}): Promise<FakeRedis> {
  const clients = new Set<Client>()
  const refused: string[] = []
  const published: { channel: string; payload: string }[] = []
  let state: 'up' | 'killed' | 'frozen' = 'up'

  // It keeps listening while it is killed, because another program could take the port meanwhile.
  const server = createServer((socket) => {
    socket.on('error', () => {})
    if (state === 'killed') return void socket.destroy()
    const client: Client = { socket, channels: new Set(), isGreeted: false }
    clients.add(client)
    socket.on('close', () => clients.delete(client))
    let received: Buffer = Buffer.alloc(0)
    socket.on('data', (data) => {
      received = Buffer.concat([received, data])
      if (state !== 'up') return
      for (;;) {
        const command = readCommand(received)
        if (command === undefined) return
        if (command === 'invalid') {
          refused.push(received.toString())
          return void socket.destroy()
        }
        received = received.subarray(command.size)
        socket.write(answer(client, command.words))
      }
    })
  })

  function answer(client: Client, [name = '', ...words]: readonly string[]): string {
    const command = name.toUpperCase()
    const refuse = (error: string) => {
      refused.push([name, ...words].join(' '))
      return `-${error}\r\n`
    }
    if (command === 'HELLO') return greet(client, words) ?? refuse('WRONGPASS invalid username-password pair')
    if (!client.isGreeted) return refuse('NOAUTH Authentication required.')
    const wrongNumber = `ERR wrong number of arguments for '${name.toLowerCase()}' command`
    switch (command) {
      case 'PING':
        return words.length === 0 ? '+PONG\r\n' : refuse(wrongNumber)
      case 'CLIENT':
        return words[0] === 'SETINFO' && words.length === 3 ? '+OK\r\n' : refuse('ERR unknown subcommand')
      case 'SUBSCRIBE':
        if (words.length === 0) return refuse(wrongNumber)
        return words
          .map((channel) => {
            client.channels.add(channel)
            return `>3\r\n${bulk('subscribe')}${bulk(channel)}:${client.channels.size}\r\n`
          })
          .join('')
      case 'PUBLISH': {
        const [channel, payload] = words
        if (channel === undefined || payload === undefined || words.length > 2) return refuse(wrongNumber)
        published.push({ channel, payload })
        const receivers = [...clients].filter(({ channels }) => channels.has(channel))
        // As in Redis, a publisher that is subscribed itself gets the message before the answer.
        for (const { socket } of receivers) socket.write(`>3\r\n${bulk('message')}${bulk(channel)}${bulk(payload)}`)
        return `:${receivers.length}\r\n`
      }
      default:
        return refuse(`ERR unknown command '${name}'`)
    }
  }

  /** Undefined if the password is wrong. */
  function greet(client: Client, [version, ...options]: readonly string[]): string | undefined {
    if (version !== '3') return '-NOPROTO unsupported protocol version\r\n'
    const at = options.indexOf('AUTH')
    if (password !== undefined && (options[at + 1] !== 'default' || options[at + 2] !== password)) return undefined
    client.isGreeted = true
    return `%2\r\n${bulk('server')}${bulk('redis')}${bulk('proto')}:3\r\n`
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const disconnect = () => {
    for (const { socket } of clients) socket.destroy()
  }
  return {
    url: `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`,
    refused,
    published,
    connections: () => clients.size,
    kill() {
      state = 'killed'
      disconnect()
    },
    restart() {
      state = 'up'
      disconnect()
    },
    freeze: () => void (state = 'frozen'),
    async close() {
      disconnect()
      server.close()
      await once(server, 'close')
    },
  }
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`
}

/** An array of bulk strings, which every command is. Undefined if it is not complete yet. */
function readCommand(data: Buffer): { words: string[]; size: number } | 'invalid' | undefined {
  let at = 0
  const readLength = (type: string): number | 'invalid' | undefined => {
    const end = data.indexOf('\r\n', at)
    if (end < 0) return data.length > at && data.toString('latin1', at, at + 1) !== type ? 'invalid' : undefined
    const line = data.toString('latin1', at, end)
    at = end + 2
    return line.startsWith(type) && /^\d+$/.test(line.slice(1)) ? Number(line.slice(1)) : 'invalid'
  }
  const count = readLength('*')
  if (typeof count !== 'number') return count
  const words: string[] = []
  while (words.length < count) {
    const length = readLength('$')
    if (typeof length !== 'number') return length
    if (data.length < at + length + 2) return undefined
    words.push(data.toString('utf8', at, at + length))
    at += length
    if (data.toString('latin1', at, at + 2) !== '\r\n') return 'invalid'
    at += 2
  }
  return { words, size: at }
}
