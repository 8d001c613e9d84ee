import { spawn, type ChildProcess } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'
import { talkTo } from '../support/talk.ts'

const key = 'hp_key_of_the_examples'
let app: TestApp
let admin: GraphQLClient
const closing: (() => void)[] = []

beforeAll(async () => {
  app = await startTestApp({
    env: {
      HOLDPOINT_API_KEY: key,
      HOLDPOINT_PUBLIC_URL: 'https://hold.example',
      HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1',
    },
  })
  admin = createGraphQLClient(app.url, { authorization: `Bearer ${key}` })
  const source = 'export default ({ amount }) => `sent ${amount}`'
  await admin.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
    input: { name: 'send_invoice', requiresApproval: true, implementation: { javascript: { source } } },
  })
})
afterEach(() => {
  for (const close of closing.splice(0)) close()
})
afterAll(() => app.stop())

const portOf = (server: Server) => (server.address() as AddressInfo).port

/** The webhook comes first, because the program needs its secret; it is told the program's address afterwards. */
async function startExample(name: string, env: Record<string, string>): Promise<string> {
  const { createWebhook } = await admin.data(
    'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { secret webhook { id } } }',
    {
      input: {
        url: 'http://127.0.0.1:9/',
        events: ['APPROVAL_REQUESTED', 'APPROVAL_DECIDED', 'APPROVAL_EXPIRED'],
      },
    },
  )
  const file = fileURLToPath(new URL(`../../examples/${name}/server.ts`, import.meta.url))
  const child: ChildProcess = spawn(process.execPath, [file], {
    env: {
      ...process.env,
      ...{ HOLDPOINT_URL: app.url, HOLDPOINT_API_KEY: key, WEBHOOK_SECRET: createWebhook.secret, PORT: '0', ...env },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  closing.push(() => child.kill())
  const [line] = await once(createInterface(child.stdout!), 'line')
  const url = String(line).replace('ready ', '')
  await admin.data('mutation ($input: UpdateWebhookInput!) { updateWebhook(input: $input) { webhook { id } } }', {
    input: { id: createWebhook.webhook.id, url: `${url}/holdpoint` },
  })
  return url
}

async function askForApproval(amount: number): Promise<{ runId: string; callId: string }> {
  const talk = talkTo(admin)
  const agent = await talk.createAgent({ name: 'Clerk <1>', model: 'demo/scripted', tools: ['send_invoice'] })
  const runId = await talk.start(agent, `call send_invoice {"amount":${amount}}`)
  const [call] = await talk.pending(runId)
  return { runId, callId: call.id }
}

/** As strict as Slack about what it accepts. */
async function startSlack() {
  const calls: { method: string; body: any }[] = []
  const server = createHttpServer((request, response) => {
    void text(request).then((sent) => {
      const method = request.url!.slice(1)
      const body = JSON.parse(sent)
      const isKnown = ['chat.postMessage', 'chat.update', 'response'].includes(method)
      const isSigned = method === 'response' || request.headers.authorization === 'Bearer xoxb-1'
      const elements = (body.blocks ?? []).flatMap((block: any) => block.elements ?? [block])
      const isValid = elements.every(
        ({ type, text: shown, action_id: id, value, style }: any) =>
          (type === 'section' && shown.type === 'mrkdwn' && shown.text.length <= 3_000) ||
          (type === 'button' &&
            shown.type === 'plain_text' &&
            typeof id === 'string' &&
            value.length <= 2_000 &&
            ['primary', 'danger'].includes(style)),
      )
      const ok = isKnown && isSigned && isValid && (method !== 'chat.update' || body.ts === '1.1')
      if (ok) calls.push({ method, body })
      response.end(JSON.stringify(ok ? { ok, channel: 'C1', ts: '1.1' } : { ok, error: 'invalid_blocks' }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => server.close())
  return { url: `http://127.0.0.1:${portOf(server)}`, calls }
}

test('[EXA60] the example for Slack posts buttons, checks who clicks, and decides as that person', async () => {
  const slack = await startSlack()
  const url = await startExample('slack-approvals', {
    ...{ SLACK_TOKEN: 'xoxb-1', SLACK_SIGNING_SECRET: 'shh', SLACK_CHANNEL: 'C1', SLACK_API: slack.url },
  })
  const { runId } = await askForApproval(120)
  await expect.poll(() => slack.calls.length, { timeout: 20_000 }).toBe(1)
  const { blocks } = slack.calls[0]!.body
  expect(blocks[0].text.text).toContain(
    '*Clerk &lt;1&gt;* wants to call `send_invoice` (<https://hold.example/runs/run_',
  )
  expect(blocks[0].text.text).toContain('"amount": 120')

  const click = async (secret: string, ageSeconds = 0) => {
    const user = { id: 'U1', name: 'grace', team_id: 'T1' }
    const payload = { user, actions: [blocks[1].elements[0]], response_url: `${slack.url}/response` }
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
    const timestamp = String(Math.floor(Date.now() / 1000) - ageSeconds)
    const hash = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')
    const headers = { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${hash}` }
    return (await fetch(`${url}/slack`, { method: 'POST', headers, body })).status
  }
  expect(await click('wrong')).toBe(401)
  expect(await click('shh', 600)).toBe(401)
  expect((await fetch(`${url}/holdpoint`, { method: 'POST', body: '{}' })).status).toBe(401)
  expect(await click('shh')).toBe(200)
  // Slack was answered before the decision.
  await expect.poll(async () => (await talkTo(admin).settled(runId)).answer, { timeout: 20_000 }).toContain('sent 120')
  await expect.poll(() => slack.calls.length, { timeout: 20_000 }).toBe(2)
  expect(slack.calls[1]!.body.blocks[1].text.text).toBe('APPROVED by grace')
  const { run } = await admin.data(
    'query ($id: ID!) { run(id: $id) { steps { toolCalls { decision { actor { kind id } } } } } }',
    { id: runId },
  )
  expect(run.steps[0].toolCalls[0].decision.actor).toEqual({ kind: 'PERSON', id: 'slack:T1:U1' })
})

/** Accepts exactly what RFC 5321 allows in this order. */
async function startMailServer() {
  const mails: { from: string; to: string; head: string; text: string }[] = []
  const server = createServer((socket) => {
    socket.write('220 mail.example ESMTP\r\n')
    let [state, from, to, data] = ['helo', '', '', '']
    const reply = (line: string) => socket.write(`${line}\r\n`)
    let buffered = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      buffered += chunk
      for (let end = buffered.indexOf('\r\n'); end >= 0; end = buffered.indexOf('\r\n')) {
        take(buffered.slice(0, end))
        buffered = buffered.slice(end + 2)
      }
    })
    socket.on('error', () => undefined)
    function take(line: string): void {
      const address = /^(?:MAIL FROM|RCPT TO):<([^<>\s]+@[^<>\s]+)>$/.exec(line)?.[1]
      if (state === 'data' && line === '.') {
        const [head = '', body = ''] = data.split('\r\n\r\n')
        mails.push({ from, to, head, text: Buffer.from(body, 'base64').toString() })
        ;[state] = ['done']
        reply('250 queued')
      } else if (state === 'data') {
        if (line.length > 998) reply('500 line too long')
        data += `${line}\r\n`
      } else if (state === 'helo' && /^EHLO \S+$/.test(line)) {
        state = 'mail'
        socket.write('250-mail.example\r\n250 8BITMIME\r\n')
      } else if (state === 'mail' && line.startsWith('MAIL') && address) {
        ;[state, from] = ['rcpt', address]
        reply('250 ok')
      } else if (state === 'rcpt' && line.startsWith('RCPT') && address) {
        ;[state, to] = ['ready', address]
        reply('250 ok')
      } else if (state === 'ready' && line === 'DATA') {
        state = 'data'
        reply('354 go on')
      } else if (line === 'QUIT') {
        reply('221 bye')
        socket.end()
      } else reply('503 bad sequence of commands')
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => server.close())
  return { port: String(portOf(server)), mails }
}

test('[EXA90] the example for mail sends each approver a link that decides in their name', async () => {
  const mail = await startMailServer()
  await startExample('mail-approvals', {
    ...{ SMTP_PORT: mail.port, MAIL_FROM: 'agents@hold.example' },
    APPROVERS: 'Ada Lovelace <ada@hold.example>, Grace <grace@hold.example>',
  })
  const { runId } = await askForApproval(80)
  await expect.poll(() => mail.mails.length, { timeout: 20_000 }).toBe(2)
  expect(mail.mails.map(({ to }) => to)).toEqual(['ada@hold.example', 'grace@hold.example'])
  expect(mail.mails[0]!.head).toMatch(/^Message-ID: <delivery_[0-9a-f]{32}\.ada@hold\.example>$/m)
  expect(mail.mails[0]!.text).toContain('"amount": 80')
  const links = mail.mails.map((one) => /https:\/\/hold\.example(\/decide\/\S+)/.exec(one.text)![1]!)
  const form = { method: 'POST', body: new URLSearchParams({ decision: 'approve' }) }
  expect(await (await fetch(new URL(links[1]!, app.url), form)).text()).toContain('Approved by Grace (you)')
  expect(await (await fetch(new URL(links[0]!, app.url), form)).text()).toContain('Approved by Grace,')
  expect((await talkTo(admin).settled(runId)).answer).toContain('sent 80')
})
