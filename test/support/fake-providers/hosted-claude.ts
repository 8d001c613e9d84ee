import { crc32 } from 'node:zlib'

import { createBedrock } from '../../../src/providers/anthropic/bedrock.ts'
import { createVertex } from '../../../src/providers/anthropic/vertex.ts'
import { checkAnthropic } from './anthropic-check.ts'
import { messagesUsage, openMessagesCall, type Issued } from './anthropic.ts'
import { secretKey, type FakeProvider } from './fake-model.ts'
import { startFakeServer, type Exchange, type ReceivedRequest, type Refusal } from './fake-server.ts'

const bedrockModel = 'us.anthropic.claude-opus-5-5-20260801-v1:0'
const vertexModel = 'claude-opus-5-5@20260801'
const vertexPath = `/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models/${vertexModel}:streamRawPredict`

/** A local server that speaks like Amazon Bedrock: the model in the address, binary events. */
export async function startFakeBedrock(): Promise<FakeProvider> {
  const issued: Issued = { signatures: new Map(), redacted: new Set() }
  const path = `/model/${encodeURIComponent(bedrockModel)}/invoke-with-response-stream`
  const server = await startFakeServer((request) => {
    if ('model' in request.body || 'stream' in request.body) return unknownField
    return checkHosted(request, { path, issued })
  })
  const endpoint = { apiKey: secretKey, baseUrl: server.url, region: 'eu-central-1' }
  return {
    name: 'bedrock',
    url: server.url,
    handle: `bedrock/${bedrockModel}`,
    provider: createBedrock(endpoint),
    env: {},
    usage: messagesUsage,
    nextCall: async () => openMessagesCall(inFrames(plain(await server.next())), issued),
    refused: server.refused,
    stop: server.stop,
  }
}

/** A local server that speaks like Vertex AI: project, region and model in the address, a token of Google. */
export async function startFakeVertex(): Promise<FakeProvider> {
  const issued: Issued = { signatures: new Map(), redacted: new Set() }
  const server = await startFakeServer((request) => {
    if ('model' in request.body) return unknownField
    return checkHosted(request, { path: vertexPath, issued })
  })
  const endpoint = { apiKey: secretKey, baseUrl: `${server.url}/v1`, region: 'europe-west1', project: 'my-project' }
  return {
    name: 'vertex',
    url: server.url,
    handle: `vertex/${vertexModel}`,
    provider: createVertex(endpoint),
    env: {},
    usage: messagesUsage,
    nextCall: async () => openMessagesCall(plain(await server.next()), issued),
    refused: server.refused,
    stop: server.stop,
  }
}

const unknownField: Refusal = { status: 400, body: { message: 'Extra inputs are not permitted' } }

/** Both take the API version from the body, and refuse what Messages refuses. */
function checkHosted(
  request: ReceivedRequest,
  { path, issued }: { path: string; issued: Issued },
): Refusal | undefined {
  if (decodeURIComponent(request.path) !== decodeURIComponent(path))
    return { status: 404, body: { message: request.path } }
  if (request.headers.authorization !== `Bearer ${secretKey}`) return { status: 403, body: { message: 'Not allowed' } }
  if (!request.body.anthropic_version) return { status: 400, body: { message: 'anthropic_version: Field required' } }
  return checkAnthropic(plain(request), issued)
}

/** The request as Messages would get it. */
function plain<Request extends ReceivedRequest>(request: Request): Request {
  const { anthropic_version: version, anthropic_beta: betas, ...body } = request.body
  const headers = {
    'x-api-key': secretKey,
    'anthropic-version': version,
    'anthropic-beta': betas?.join(',') ?? request.headers['anthropic-beta'],
  }
  return { ...request, path: '/v1/messages', headers, body: { ...body, model: 'claude-opus-5-5', stream: true } }
}

/** Events in the binary frames of Amazon's event streams. */
function inFrames(exchange: Exchange): Exchange {
  const { response } = exchange
  const open = () => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
  }
  const write = (text: string) => {
    open()
    response.write(frame(JSON.stringify({ bytes: Buffer.from(text).toString('base64') })))
  }
  return {
    ...exchange,
    send: (event) => write(JSON.stringify(event)),
    raw: write,
    end() {
      open()
      response.end()
    },
  }
}

function frame(payload: string): Buffer {
  const headers = Buffer.concat([
    header(':event-type', 'chunk'),
    header(':content-type', 'application/json'),
    header(':message-type', 'event'),
  ])
  const body = Buffer.from(payload)
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + headers.length + body.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const message = Buffer.concat([prelude, headers, body])
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(message), 0)
  return Buffer.concat([message, checksum])
}

function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(value.length, 0)
  const isText = 7
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([isText]),
    length,
    Buffer.from(value),
  ])
}
