import type { Random } from './random.ts'

/** Malformed frames, and well-formed ones that carry malformed messages of graphql-transport-ws. */
export function createFrames(random: Random): () => Buffer {
  const kinds = [garbage, oddFrame, oddMessage, oddMessage, oddMessage, brokenText]
  return () => random.pick(kinds)()

  function garbage(): Buffer {
    return bytes(1 + random.below(200))
  }

  /** Reserved bits, unknown opcodes, control frames that are too long or fragmented, wrong lengths. */
  function oddFrame(): Buffer {
    const first = random.below(256)
    const isMasked = random.chance(0.7)
    const claimed = random.pick([0, 1, 125, 126, 127])
    const length = { 126: random.pick([0, 10, 65_535]), 127: random.pick([1, 2 ** 31, 2 ** 48]) }[claimed]
    const head = Buffer.alloc(2 + (claimed === 126 ? 2 : claimed === 127 ? 8 : 0))
    head[0] = first
    head[1] = (isMasked ? 0x80 : 0) | claimed
    if (claimed === 126) head.writeUInt16BE(length!, 2)
    if (claimed === 127) head.writeBigUInt64BE(BigInt(length!) | (random.chance(0.2) ? 1n << 63n : 0n), 2)
    return Buffer.concat([head, bytes(random.below(150))])
  }

  function brokenText(): Buffer {
    return frame(random.pick([Buffer.from([0xff, 0xfe]), Buffer.from([0xed, 0xa0, 0x80]), Buffer.alloc(0), bytes(20)]))
  }

  function oddMessage(): Buffer {
    return frame(Buffer.from(random.chance(0.1) ? broken(JSON.stringify(message())) : JSON.stringify(message())))
  }

  function message(): unknown {
    if (random.chance(0.1)) return random.pick<unknown>([null, 1, 'x', [], {}, [{ type: 'subscribe' }], true])
    const types = [
      'connection_init',
      'subscribe',
      'subscribe',
      'complete',
      'ping',
      'pong',
      'next',
      'error',
      'x',
      1,
      null,
    ]
    return {
      ...(random.chance(0.95) && { type: random.pick<unknown>(types) }),
      ...(random.chance(0.8) && { id: random.pick<unknown>(['1', '1', '2', '', 'x'.repeat(5_000), 1, null, {}]) }),
      ...(random.chance(0.8) && { payload: payload() }),
    }
  }

  function payload(): unknown {
    return random.pick<unknown>([
      null,
      1,
      [],
      {},
      { query: '{ __typename }' },
      { query: 1 },
      { query: '{ __typename }', variables: 1 },
      { query: '{ __typename }', variables: [], extensions: 'x' },
      { query: '{ __typename }', operationName: 1 },
      { query: 'subscription { runChanges(since: "2026-01-01T00:00:00Z") { id } }' },
      { query: 'subscription { runEvents(runId: "x") { __typename } }' },
      { query: `{ ${'a '.repeat(3_000)} }` },
      { Authorization: random.pick<unknown>([1, {}, [], 'Bearer x', null]) },
    ])
  }

  function broken(text: string): string {
    const at = random.below(text.length)
    return random.chance(0.5) ? text.slice(0, at) : `${text.slice(0, at)}\u0000${text.slice(at)}`
  }

  /** A complete text frame of a client, masked as the protocol requires. */
  function frame(payloadBytes: Buffer): Buffer {
    const mask = bytes(4)
    const head =
      payloadBytes.length < 126
        ? Buffer.from([0x81, 0x80 | payloadBytes.length])
        : Buffer.from([0x81, 0x80 | 126, payloadBytes.length >> 8, payloadBytes.length & 0xff])
    return Buffer.concat([head, mask, payloadBytes.map((byte, index) => byte ^ mask[index % 4]!)])
  }

  function bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => random.below(256)))
  }
}

/** Requests to open a socket, and other first lines, each wrong in some way. */
export function createOpenings(random: Random): () => string {
  const hosts = [
    '127.0.0.1',
    '[x',
    '999.999.999.999',
    'a b.localhost',
    '',
    'evil.example#.localhost',
    '\u0001',
    '[::1]:x',
  ]
  const lines = [
    'GET /graphql HTTP/1.1',
    'GET /graphql?x=%ff HTTP/1.1',
    'GET //graphql HTTP/1.1',
    'POST /graphql HTTP/1.1',
  ]
  const oddLines = [
    'GET  HTTP/1.1',
    'GET /graphql HTTP/9.9',
    'FOO /graphql HTTP/1.1',
    '\u0000',
    'GET http://x/graphql HTTP/1.1',
  ]
  return () => {
    const line = random.chance(0.7) ? random.pick(lines) : random.pick(oddLines)
    const headers = [
      `Host: ${random.pick(hosts)}`,
      random.pick(['Upgrade: websocket', 'Upgrade: h2c', 'Upgrade:', 'X: y']),
      random.pick(['Connection: Upgrade', 'Connection: close', 'Connection: Upgrade, x']),
      `Sec-WebSocket-Key: ${random.pick(['dGhlIHNhbXBsZSBub25jZQ==', 'x', '', '='.repeat(500)])}`,
      `Sec-WebSocket-Version: ${random.pick(['13', '8', 'x', ''])}`,
      `Sec-WebSocket-Protocol: ${random.pick(['graphql-transport-ws', 'graphql-ws', 'x,,y', ',', ''])}`,
      ...(random.chance(0.3) ? [random.pick(['Origin: null', 'Origin: https://x.example', 'Origin: %'])] : []),
      ...(random.chance(0.2) ? [`Sec-WebSocket-Extensions: ${random.pick(['permessage-deflate', 'x;=,', ';'])}`] : []),
      ...(random.chance(0.2)
        ? [random.pick(['Content-Length: 5', 'Content-Length: x', 'Transfer-Encoding: chunked'])]
        : []),
    ]
    return `${[line, ...headers.filter(() => random.chance(0.9))].join('\r\n')}\r\n\r\n`
  }
}
