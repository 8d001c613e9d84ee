import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'

import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'

import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { OtlpExporter } from '../../src/telemetry/otlp.ts'
import { defineTool, type ToolContext } from '../../src/tools/registry.ts'
import { formatTraceparent, parseTraceparent } from '../../src/util/trace-context.ts'
import { startTestApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import { captureLog } from '../support/captured-log.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { startOtlpReceiver, type OtlpReceiver } from '../support/otlp-receiver.ts'
import { parsePrometheus } from '../support/prometheus.ts'
import { approve, talkTo } from '../support/talk.ts'
import { startMcpServer } from '../tools/mcp-server.ts'

const model = createGatedModel()
const given: ToolContext[] = []
const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks.',
  parameters: { type: 'object' },
  run: (_args, context) => {
    given.push(context)
    return 'a secret result'
  },
})
let database: OpenDatabase
let receiver: OtlpReceiver
const apps: TestApp[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  receiver = await startOtlpReceiver()
  given.length = 0
})
afterEach(async () => {
  await stopApps()
  await receiver.stop()
})
afterAll(async () => {
  await database.close()
  model.assertAllTaken()
})

async function start({ env, ...options }: TestAppOptions = {}): Promise<TestApp> {
  const app = await startTestApp({
    database,
    providers: [model.provider],
    tools: [lookUp],
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...env },
    ...options,
  })
  apps.push(app)
  return app
}

/** Each sends the spans that it has not sent yet. Otherwise it sends them every two seconds. */
async function stopApps(): Promise<void> {
  for (const app of apps.splice(0)) await app.stop()
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`

async function send(app: TestApp, agent: string, headers: Record<string, string>): Promise<string> {
  const { data } = await app.request(
    `mutation Send($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }`,
    { input: { to: { agentId: agent }, messages: [{ text: 'a secret question' }] } },
    { headers },
  )
  return data.sendMessage.run.id
}

async function untilPaused(talk: ReturnType<typeof talkTo>, run: string) {
  const call = await model.nextCall()
  call.say('a secret answer')
  call.call('look_up', { what: 'a secret argument' })
  call.finish({ usage: { inputTokens: 7, outputTokens: 3 } })
  const [pending] = await talk.pending(run)
  return pending
}

test('[TRC1] one trace has the operation, run, steps, requests, tools and waits, across processes, a pause and a restart', async () => {
  const api = await start({ env: { HOLDPOINT_WORKERS: '0' } })
  const talk = talkTo(api)
  const first = await start({ role: 'worker' })
  const agent = await talk.createAgent({ tools: [{ name: 'look_up', approvalOverride: true }] })
  const run = await send(api, agent, { traceparent })
  const pending = await untilPaused(talk, run)
  await first.stop()
  await start({ role: 'worker' })
  await talk.submit(run, [approve(pending)])
  const last = await model.nextCall()
  last.say('done')
  last.finish()
  await talk.settled(run)
  await stopApps()

  const names = {
    operation: 'mutation Send',
    run: 'invoke_agent',
    step: 'step 0',
    wait: 'wait_for_approval look_up',
    tool: 'execute_tool look_up',
    lastStep: 'step 1',
  }
  const [operation, whole, step, wait, tool, lastStep] = await Promise.all(
    Object.values(names).map((name) => receiver.span(name, traceId)),
  )
  expect(operation).toMatchObject({ parentSpanId: '00f067aa0ba902b7', kind: 2, service: 'holdpoint' })
  expect(whole).toMatchObject({
    parentSpanId: operation!.spanId,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.id': agent,
      'gen_ai.conversation.id': expect.stringMatching(/^conv_/),
      'gen_ai.provider.name': 'test',
      'gen_ai.request.model': 'gated',
      'gen_ai.usage.input_tokens': 17,
      'gen_ai.usage.output_tokens': 8,
      'holdpoint.run.id': run,
      'holdpoint.run.status': 'COMPLETED',
      'holdpoint.run.stop_reason': 'END_TURN',
      'holdpoint.run.attempts': 2,
    },
  })
  for (const child of [step, lastStep]) expect(child!.parentSpanId).toBe(whole!.spanId)
  for (const child of [wait, tool]) expect(child!.parentSpanId).toBe(step!.spanId)
  const chats = receiver.spans.filter(({ name, traceId: trace }) => name === 'chat gated' && trace === traceId)
  expect(chats.map(({ parentSpanId, kind }) => [parentSpanId, kind])).toEqual([
    [step!.spanId, 3],
    [lastStep!.spanId, 3],
  ])
  expect(chats[0]!.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gated',
    'gen_ai.usage.input_tokens': 7,
    'gen_ai.usage.output_tokens': 3,
  })
  expect(wait!.attributes).toMatchObject({ 'gen_ai.tool.name': 'look_up', 'holdpoint.decision': 'APPROVED' })
  expect(tool!.attributes).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'look_up',
    'gen_ai.tool.call.id': pending.id,
    'holdpoint.tool_call.status': 'SUCCEEDED',
  })
  // The tool gets its own span, so that its requests belong to it.
  expect(given.map(({ traceparent: header }) => parseTraceparent(header))).toEqual([
    { traceId, spanId: tool!.spanId, sampled: true },
  ])
  expect(JSON.stringify(receiver.spans)).not.toContain('secret')
})

test('[TRC2] prompts, answers, arguments and results are in spans only when asked for', async () => {
  const app = await start({ env: { HOLDPOINT_TRACE_CONTENTS: '1' } })
  const talk = talkTo(app)
  const agent = await talk.createAgent({ tools: [{ name: 'look_up', approvalOverride: true }] })
  const run = await send(app, agent, {})
  const pending = await untilPaused(talk, run)
  await talk.submit(run, [approve(pending)])
  ;(await model.nextCall()).finish()
  await talk.settled(run)
  await stopApps()
  const whole = await receiver.span('invoke_agent')
  expect(whole.attributes['gen_ai.input.messages']).toBe(
    '[{"role":"user","parts":[{"type":"text","content":"a secret question"}]}]',
  )
  const chat = await receiver.span('chat gated')
  expect(chat.attributes['gen_ai.output.messages']).toBe(
    '[{"role":"assistant","parts":[{"type":"text","content":"a secret answer"}]}]',
  )
  expect((await receiver.span('execute_tool look_up')).attributes).toMatchObject({
    'gen_ai.tool.call.arguments': '{"what":"a secret argument"}',
    'gen_ai.tool.call.result': 'a secret result',
  })
})

test('[TRC3] a failed run is a failed span, and a trace that its client does not record is not recorded', async () => {
  const app = await start()
  const talk = talkTo(app)
  const agent = await talk.createAgent()
  const unrecorded = await send(app, agent, { traceparent: traceparent.replace(/01$/, '00') })
  ;(await model.nextCall()).finish()
  await talk.settled(unrecorded)
  const run = await send(app, agent, { traceparent: 'nonsense' })
  ;(await model.nextCall()).fail({ type: 'LLM_RATE_LIMIT', message: 'too fast' })
  await talk.settled(run)
  await stopApps()
  const failed = await receiver.span('invoke_agent')
  expect(failed).toMatchObject({
    failed: true,
    attributes: { 'error.type': 'LLM_RATE_LIMIT', 'holdpoint.run.id': run },
  })
  expect(receiver.spans.filter((span) => span.traceId === traceId)).toEqual([])
  expect(receiver.spans.filter(({ name }) => name === 'invoke_agent')).toHaveLength(1)
})

test('[TRC4] a receiver that refuses delays nobody and loses nothing, and the log says so once', async () => {
  const captured = captureLog()
  receiver.status = 503
  const app = await start({ log: captured.log, env: { OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b,x=y' } })
  const talk = talkTo(app)
  const agent = await talk.createAgent()
  const run = await talk.start(agent, 'hello')
  ;(await model.nextCall()).finish()
  await talk.settled(run)
  // The spans are sent again after two seconds, and at the end.
  await expect.poll(() => receiver.headers.length).toBeGreaterThan(1)
  receiver.status = 200
  await stopApps()
  expect((await receiver.span('invoke_agent')).attributes['holdpoint.run.id']).toBe(run)
  expect(captured.with('traces and metrics could not be sent')).toHaveLength(1)
  expect(receiver.headers[0]).toMatchObject({ 'api-key': 'a b', x: 'y' })
  expect(JSON.stringify(captured.lines)).not.toContain('a b')
})

test('[TRC10] while a receiver refuses, the newest 8,192 spans wait', async () => {
  receiver.status = 503
  const { log } = captureLog()
  const exporter = new OtlpExporter({ endpoint: receiver.url, headers: {}, resource: {}, metrics: new Metrics(), log })
  const at = new Date()
  for (let index = 0; index < 8_292; index += 1)
    exporter.emit({
      ...{
        traceId: '1'.repeat(32),
        spanId: String(index).padStart(16, '0'),
        parentSpanId: null,
        name: `span ${index}`,
      },
      ...{ kind: 'INTERNAL', start: at, end: at, attributes: {}, error: null },
    })
  await expect.poll(() => receiver.headers.length).toBe(1)
  receiver.status = 200
  await exporter.stop()
  expect(receiver.spans).toHaveLength(8_192)
  expect(receiver.spans[0]).toMatchObject({ name: 'span 100' })
})

test('[TRC5] the metrics of /metrics are sent by OTLP too', async () => {
  const app = await start()
  const talk = talkTo(app)
  const agent = await talk.createAgent()
  const run = await talk.start(agent, 'hello')
  ;(await model.nextCall()).finish()
  await talk.settled(run)
  const page = await fetch(app.url.replace('/graphql', '/metrics'))
  const families = [...parsePrometheus(await page.text())]
  await app.stop()
  const { metrics } = receiver
  const familyOf = (name: string) => families.find(([family]) => family.startsWith(name.replaceAll('.', '_')))?.[0]
  const sent = [...metrics.keys()].map(familyOf)
  expect(sent).not.toContain(undefined)
  expect(sent).toEqual(
    expect.arrayContaining(families.filter(([, { samples }]) => samples.length > 0).map(([name]) => name)),
  )
  expect(metrics.get('holdpoint.runs.ended')).toEqual({
    name: 'holdpoint.runs.ended',
    unit: '{run}',
    kind: 'sum',
    points: [
      { attributes: { status: 'COMPLETED', stop_reason: 'END_TURN', kind: 'TURN', model: 'test/gated' }, value: 1 },
    ],
  })
  expect(metrics.get('holdpoint.model.duration')).toMatchObject({
    unit: 's',
    kind: 'histogram',
    points: [{ value: 1 }],
  })
  expect(metrics.get('holdpoint.queue.depth')).toMatchObject({ kind: 'gauge' })
  for (const name of ['holdpoint.tokens', 'holdpoint.subscribers', 'holdpoint.pool.connections', 'process.cpu'])
    expect([...metrics.keys()]).toContain(name)
})

const sendHello =
  'mutation Send($id: ID!) { sendMessage(input: { to: { agentId: $id }, messages: [{ text: "hello" }] }) { ... on SendMessageSuccess { run { id } } } }'

test('[TRC7] over WebSockets, the operation or the upgrade names the span of the client', async () => {
  const app = await start()
  const talk = talkTo(app)
  const agent = await talk.createAgent()
  const ofUpgrade = { traceId: 'a'.repeat(32), spanId: '00f067aa0ba902b7', sampled: true }
  const ofOperation = { traceId: 'b'.repeat(32), spanId: '00f067aa0ba902b8', sampled: true }
  const socket = app.webSocket({ headers: { traceparent: formatTraceparent(ofUpgrade) } })
  for (const extensions of [undefined, { traceparent: formatTraceparent(ofOperation) }]) {
    const payload = { query: sendHello, variables: { id: agent }, ...(extensions && { extensions }) }
    const { value } = await socket.client.iterate<any>(payload).next()
    ;(await model.nextCall()).finish()
    await talk.settled(value.data.sendMessage.run.id)
  }
  await socket.dispose()
  await stopApps()
  for (const parent of [ofUpgrade, ofOperation]) {
    const operation = await receiver.span('mutation Send', parent.traceId)
    expect(operation.parentSpanId).toBe(parent.spanId)
    expect(await receiver.span('invoke_agent', parent.traceId)).toMatchObject({ parentSpanId: operation.spanId })
  }
})

test('[TRC8] HTTP tools and MCP servers are told the span of their own call', async () => {
  const headers: (string | undefined)[] = []
  const http = createServer((request, response) => {
    headers.push(request.headers['traceparent'] as string | undefined)
    response.end('ok')
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void http.close())
  const metas: unknown[] = []
  const mcp = await startMcpServer((server) => {
    server.registerTool('in_mcp', {}, ({ _meta }) => {
      metas.push(_meta?.['traceparent'])
      return { content: [{ type: 'text', text: 'ok' }] }
    })
  })
  onTestFinished(() => mcp.stop())
  const app = await start({ env: { HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1' } })
  const talk = talkTo(app)
  await app.data('mutation ($url: String!) { addMcpServer(input: { name: "m", url: $url }) { server { id } } }', {
    url: mcp.url,
  })
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  await app.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
    input: { name: 'in_http', description: '', parameters: { type: 'object' }, implementation: { http: { url } } },
  })
  const agent = await talk.createAgent({ tools: ['in_http', 'in_mcp'] })
  const run = await send(app, agent, { traceparent })
  const call = await model.nextCall()
  call.call('in_http', {})
  call.call('in_mcp', {})
  call.finish()
  ;(await model.nextCall()).finish()
  await talk.settled(run)
  await stopApps()
  for (const [tool, told] of [
    ['in_http', headers],
    ['in_mcp', metas],
  ] as const) {
    const { spanId } = await receiver.span(`execute_tool ${tool}`, traceId)
    expect(told.map(parseTraceparent)).toEqual([{ traceId, spanId, sampled: true }])
  }
})

/** Starts and stops a server without and with a receiver, and prints which files of telemetry/ each of them loaded. */
const program = `
  import { registerHooks } from 'node:module'
  let loaded = []
  registerHooks({
    load(url, context, next) {
      const file = /\\/src\\/telemetry\\/([^/]+)$/.exec(url)?.[1]
      if (file) loaded.push(file)
      return next(url, context)
    },
  })
  const [source, url, receiver] = process.argv.slice(1)
  const { createApp } = await import(source + 'app.ts')
  const { readConfig } = await import(source + 'config/config.ts')
  const { openDatabase } = await import(source + 'store/database/open-database.ts')
  const { createLog } = await import(source + 'util/log.ts')
  const log = createLog('fatal')
  const database = await openDatabase(url, { log })
  for (const env of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver }]) {
    const app = await createApp({ config: readConfig({ PORT: '0', ...env }), database, log, role: 'serve' })
    await app.start()
    await app.stop()
    console.log(JSON.stringify(loaded))
    loaded = []
  }
  process.exit()`

test('[TRC9] without a receiver nothing of tracing is loaded, and tools are told no span', async () => {
  const source = new URL('../../src/', import.meta.url).href
  const args = ['--input-type=module', '-e', program, source, database.url, receiver.url]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const [without, more] = stdout.split('\n', 2).map((line) => JSON.parse(line) as string[])
  const tracing = ['tracing.ts', 'otlp.ts', 'trace-runs.ts', 'otlp-format.ts']
  expect(more).toEqual(expect.arrayContaining(tracing))
  expect(without).toContain('metrics.ts')
  expect(without!.filter((file) => tracing.includes(file))).toEqual([])

  const app = await startTestApp({ database, providers: [model.provider], tools: [lookUp] })
  apps.push(app)
  const talk = talkTo(app)
  const started = await talk.start(await talk.createAgent({ tools: ['look_up'] }), 'hello')
  const call = await model.nextCall()
  call.call('look_up', {})
  call.finish()
  ;(await model.nextCall()).finish()
  await talk.settled(started)
  expect(given.map((context) => context.traceparent)).toEqual([null])
})

test('[TRC6] a run whose client does not trace has its own trace, and a traceparent is read as W3C Trace Context says', async () => {
  const app = await start()
  const talk = talkTo(app)
  const agent = await talk.createAgent()
  const socket = app.webSocket()
  const answer = await socket.request(sendHello, { id: agent })
  await socket.dispose()
  ;(await model.nextCall()).finish()
  await talk.settled(answer.data.sendMessage.run.id)
  await stopApps()
  const operation = await receiver.span('mutation Send')
  expect(operation.parentSpanId).toBeUndefined()
  expect(await receiver.span('invoke_agent', operation.traceId)).toMatchObject({ parentSpanId: operation.spanId })

  expect(formatTraceparent(parseTraceparent(traceparent)!)).toBe(traceparent)
  expect(parseTraceparent(`cc-${traceId}-00f067aa0ba902b7-01-more`)).toMatchObject({ traceId })
  for (const bad of [
    `ff-${traceId}-00f067aa0ba902b7-01`,
    `${traceparent}-more`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    '',
    7,
  ])
    expect(parseTraceparent(bad)).toBeUndefined()
})
