import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startFakeAnthropic } from '../support/fake-providers/anthropic.ts'
import { startFakeChat } from '../support/fake-providers/chat.ts'
import type { FakeProvider } from '../support/fake-providers/fake-model.ts'
import { startFakeGemini } from '../support/fake-providers/gemini.ts'
import { startFakeResponses } from '../support/fake-providers/responses.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

const image = Buffer.alloc(9_000, 'image')
const base64 = image.toString('base64')
const pdf = Buffer.from('%PDF-1.7').toString('base64')
const imageUrl = `data:image/png;base64,${base64}`

const camera = defineTool({
  name: 'camera',
  description: 'Takes a picture.',
  parameters: { type: 'object' },
  run: () => ({
    content: [{ text: 'A picture:' }, { imageUrl }, { documentUrl: `data:application/pdf;base64,${pdf}` }],
    json: { place: 'here' },
  }),
})
const album = defineTool({
  name: 'album',
  description: 'Returns too many pictures, with long names.',
  parameters: { type: 'object' },
  // The two hundredth character is the first half of the emoji.
  run: () => ({ content: Array.from({ length: 51 }, () => ({ imageUrl, name: `${'x'.repeat(199)}👋.png` })) }),
})
const data = defineTool({
  name: 'data',
  description: 'Returns an object that only looks like content.',
  parameters: { type: 'object' },
  run: () => ({ content: [{ text: 'no image' }] }),
})

let app: TestApp
let talk: Talk
let http: Server
let mcp: TestMcpServer
const fakes: FakeProvider[] = []

beforeAll(async () => {
  for (const start of [startFakeResponses, startFakeChat, startFakeAnthropic, startFakeGemini])
    fakes.push(await start())
  http = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://127.0.0.1')
    const type = decodeURIComponent(pathname.slice(1))
    const name = searchParams.get('name') ?? 'filename="scan 1.png"'
    const headers = { 'content-type': type, 'content-disposition': `attachment; ${name}` }
    response.writeHead(Number(searchParams.get('status') ?? 200), headers)
    const hex = searchParams.get('hex')
    response.end(hex !== null ? Buffer.from(hex, 'hex') : type.includes('json') ? '{"a": [1]}' : image)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  mcp = await startMcpServer((server) => {
    server.registerTool('show', {}, () => ({
      content: [
        { type: 'text', text: 'seen' },
        { type: 'image', data: base64, mimeType: 'image/png' },
        { type: 'audio', data: base64, mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'file:///notes/a.txt', text: 'notes' } },
        { type: 'resource', resource: { uri: 'file:///notes/b.pdf', blob: base64, mimeType: 'application/pdf' } },
        { type: 'resource', resource: { uri: 'c.txt', blob: '/A==', mimeType: 'text/plain; charset=iso-8859-1' } },
        { type: 'resource', resource: { uri: 'd.txt', blob: '/A==', mimeType: 'text/plain; charset=utf-7' } },
      ],
      structuredContent: { objects: 3 },
    }))
  })
  const env = Object.assign({}, ...fakes.map((fake) => fake.env), { HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1' })
  app = await startTestApp({ env, tools: [camera, album, data] })
  talk = talkTo(app)
})
afterAll(async () => {
  await app.stop()
  await Promise.all(fakes.map((fake) => fake.stop()))
  await mcp.stop()
  http.closeAllConnections()
  http.close()
})

const upsertTool = (input: object) =>
  app.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', { input })

/** The result of calling the tool, with a model that reads only text. */
async function call(tool: string) {
  const agent = await talk.createAgent({ model: 'demo/scripted', tools: [tool] })
  const run = await talk.start(agent, `call ${tool} {}`)
  return returnOf(run)
}

async function returnOf(id: string) {
  await talk.settled(id)
  const { run } = await app.data(
    `query ($id: ID!) { run(id: $id) { answer steps { toolCalls { result { status output json truncated
      content { kind text imageUrl documentUrl file { name mediaType sizeBytes } } } } } } }`,
    { id },
  )
  return { answer: run.answer, ...run.steps[0].toolCalls[0].result }
}

const png = { kind: 'IMAGE', file: { mediaType: 'image/png', sizeBytes: 9_000 } }

test('[RET1] a tool in code returns parts and a structured result', async () => {
  const result = await call('camera')
  expect(result).toMatchObject({ status: 'SUCCESS', output: 'A picture:', json: { place: 'here' }, truncated: false })
  const document = { kind: 'DOCUMENT', documentUrl: `data:application/pdf;base64,${pdf}`, file: null }
  expect(result.content).toMatchObject([{ kind: 'TEXT', text: 'A picture:' }, png, document])
  expect(result.answer).toMatch(
    /camera returned: A picture:\n\[image of type image\/png, 9 KB. You cannot see images.\]/,
  )
  expect(await call('data')).toMatchObject({
    output: '{"content":[{"text":"no image"}]}',
    json: { content: [{ text: 'no image' }] },
    content: [{ kind: 'TEXT' }],
  })
})

test('[RET6] of many parts 50 are kept, and of a long name 200 characters', async () => {
  const { content, truncated } = await call('album')
  expect(content).toHaveLength(50)
  expect(truncated).toBe(true)
  expect(content[0].file.name).toBe(`${'x'.repeat(199)}\ufffd`)
})

test('[RET1] a script in the sandbox returns parts, however long they are', async () => {
  const source = (url: string) => `export default () => ({ content: [{ imageUrl: ${JSON.stringify(url)} }] })`
  const tool = { name: 'scripted', parameters: { type: 'object' }, returnCharLimit: 1_000 }
  await upsertTool({ ...tool, implementation: { javascript: { source: source(imageUrl) } } })
  expect(await call('scripted')).toMatchObject({ status: 'SUCCESS', output: '', json: null, content: [png] })
  await upsertTool({ ...tool, implementation: { javascript: { source: source('ftp://example.com/a.png') } } })
  expect(await call('scripted')).toMatchObject({
    status: 'ERROR',
    output: expect.stringContaining('ftp://example.com/a.png'),
  })
})

test('[RET2] the type of an HTTP response says what it is', async () => {
  const { port } = http.address() as AddressInfo
  const of = async (type: string) => {
    const url = `http://127.0.0.1:${port}/${encodeURIComponent(type)}`
    await upsertTool({ name: 'fetched', implementation: { http: { url } }, parameters: { type: 'object' } })
    return call('fetched')
  }
  expect(await of('image/png')).toMatchObject({ output: '', content: [{ ...png, file: { name: 'scan 1.png' } }] })
  expect(await of('application/pdf; q=1')).toMatchObject({
    content: [{ kind: 'DOCUMENT', file: { mediaType: 'application/pdf' } }],
  })
  expect(await of('application/json')).toMatchObject({ output: '{"a": [1]}', json: { a: [1] } })
  expect(await of('text/plain')).toMatchObject({ content: [{ kind: 'TEXT', text: image.toString() }] })
})

test('[FIL66] text that a tool returns in another charset is read in UTF-8', async () => {
  const { port } = http.address() as AddressInfo
  const fetched = async (path: string) => {
    const url = `http://127.0.0.1:${port}/${path}`
    await upsertTool({ name: 'fetched', implementation: { http: { url } }, parameters: { type: 'object' } })
    return call('fetched')
  }
  const latin = encodeURIComponent('text/plain; charset=iso-8859-1')
  expect(await fetched(`${latin}?hex=fc93`)).toMatchObject({ status: 'SUCCESS', output: 'ü“' })
  expect(await fetched(`${latin}?hex=fc93&status=404`)).toMatchObject({
    status: 'ERROR',
    output: "The tool's server answered 404 Not Found: ü“",
  })
  const unknown = encodeURIComponent('text/plain; charset=utf-7')
  expect(await fetched(`${unknown}?hex=6f6b`)).toMatchObject({ output: 'ok' })
  expect(await fetched(`${unknown}?hex=fc`)).toMatchObject({
    ...{ status: 'SUCCESS', output: '', content: [{ file: { mediaType: 'application/octet-stream', sizeBytes: 1 } }] },
    answer: expect.stringContaining('of type application/octet-stream, 1 bytes. You cannot read this type of file.]'),
  })
  expect(await fetched(`${unknown}?hex=fc&status=500`)).toMatchObject({
    output: expect.stringContaining('500 Internal Server Error: (text in an unknown charset)'),
  })
  const named = async (disposition: string) =>
    (await fetched(`application%2Fpdf?name=${encodeURIComponent(disposition)}`)).content[0].file.name
  expect(await named("filename=a.pdf; filename*=UTF-8''M%C3%BCll%zz.pdf")).toBe('Müll%zz.pdf')
  expect(await named(`filename="${Buffer.from('Müll.pdf').toString('latin1')}"`)).toBe('Müll.pdf')
  expect(await named('filename="M\u00fcll.pdf"')).toBe('Müll.pdf')
  expect(await named('filename="M\u0085ll.pdf"')).toBe('M\u0085ll.pdf')
})

test('[RET3] an MCP tool returns images, audio, resources and structured content', async () => {
  await app.data('mutation ($input: AddMcpServerInput!) { addMcpServer(input: $input) { server { id } } }', {
    input: { name: 'm', url: mcp.url },
  })
  expect(await call('show')).toMatchObject({
    output: 'seen\nnotes',
    json: { objects: 3 },
    content: [
      { kind: 'TEXT', text: 'seen' },
      png,
      { kind: 'DOCUMENT', file: { mediaType: 'audio/wav' } },
      { kind: 'TEXT', text: 'notes' },
      { kind: 'DOCUMENT', file: { name: 'b.pdf', mediaType: 'application/pdf' } },
      { kind: 'DOCUMENT', file: { name: 'c.txt', mediaType: 'text/plain', sizeBytes: 2 } },
      { kind: 'DOCUMENT', file: { name: 'd.txt', mediaType: 'application/octet-stream', sizeBytes: 1 } },
    ],
    answer: expect.stringContaining('<document name="c.txt" type="text/plain">\nü\n</document>'),
  })
})

test('[RET4] a client returns a text or parts, and the same decision again changes nothing', async () => {
  const agent = await talk.createAgent({ model: 'demo/scripted' })
  const run = await talk.start(agent, 'call shot {}', { clientTools: [{ name: 'shot' }] })
  const [pending] = await talk.pending(run)
  const { run: shown } = await app.data('query ($id: ID!) { run(id: $id) { conversation { id } } }', { id: run })
  const { uploadFile } = await app.data(
    'mutation ($input: UploadFileInput!) { uploadFile(input: $input) { file { id } } }',
    { input: { conversationId: shown.conversation.id, dataUrl: `data:text/csv;base64,${pdf}`, name: 'a.csv' } },
  )
  const decide = (toolReturn: object) => [{ toolReturn: { toolCallId: pending.id, status: 'SUCCESS', ...toolReturn } }]
  await expect(talk.submit(run, decide({}))).rejects.toThrow(/toolReturn.output: It is missing/)
  await expect(talk.submit(run, decide({ output: 'x', content: [{ text: 'x' }] }))).rejects.toThrow(/combined/)
  const decision = decide({ content: [{ text: 'Here:' }, { imageUrl }, { fileId: uploadFile.file.id }] })
  expect(await talk.submit(run, decision)).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })
  const result = await returnOf(run)
  expect(result).toMatchObject({
    output: 'Here:',
    content: [{ text: 'Here:' }, png, { kind: 'DOCUMENT', file: { name: 'a.csv' } }],
  })
  expect(result.answer).toContain('<document name="a.csv" type="text/csv">\n%PDF-1.7\n</document>')
  expect(await talk.submit(run, decision)).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })
  const other = decide({ content: [{ text: 'Here:' }, { text: 'another' }] })
  expect(await talk.submit(run, other)).toMatchObject({ __typename: 'AlreadyDecidedRefusal' })
})

test.each([0, 1, 2, 3])(
  '[RET5] images and documents reach a model that reads them, in every format (%i)',
  async (index) => {
    const fake = fakes[index]!
    // It is unknown whether the second model reads documents.
    const model = index === 1 ? 'openai-chat/gpt-5-mini' : fake.handle
    const agent = await talk.createAgent({ model, tools: ['camera'] })
    const run = await talk.start(agent, '', {
      messages: [{ content: [{ text: 'look' }, { imageUrl }, { documentUrl: `data:text/plain;base64,${pdf}` }] }],
    })
    const first = await fake.nextCall()
    const asked = JSON.stringify(first.body)
    // Not `toContain`, whose message would show the whole image.
    expect(asked.includes(base64)).toBe(true)
    expect(asked.includes(String.raw`<document type=\"text/plain\">\n%PDF-1.7\n</document>`)).toBe(true)
    first.call('camera', {})
    first.finish()
    const second = await fake.nextCall()
    // Once in the message and once in the return.
    expect(JSON.stringify(second.body).split(base64)).toHaveLength(3)
    expect(JSON.stringify(second.body).includes(pdf)).toBe(true)
    second.say('seen')
    second.finish()
    expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'seen' })
    expect(fake.refused).toEqual([])
  },
)
