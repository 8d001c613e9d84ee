import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

import { createClient, followInbox, SubmitApprovals } from '../client/index.ts' // In your program: 'holdpoint/client'

/**
 * Connects Holdpoint with a chat such as Slack: posts every call that waits for approval to WEBHOOK_URL, and accepts
 * decisions at POST /decisions. Both directions are signed with WEBHOOK_SECRET.
 */
const { WEBHOOK_URL, WEBHOOK_SECRET, PORT = '4100', HOLDPOINT_URL, HOLDPOINT_API_KEY } = process.env
if (!WEBHOOK_URL || !WEBHOOK_SECRET) throw new Error('Set WEBHOOK_URL and WEBHOOK_SECRET.')

const client = createClient({ url: HOLDPOINT_URL ?? 'http://127.0.0.1:4000/graphql', key: HOLDPOINT_API_KEY })
const sign = (body: string): string => createHmac('sha256', WEBHOOK_SECRET).update(body).digest('hex')

const told = new Set<string>()
followInbox(client, {
  needs: ['APPROVAL'],
  onChange({ calls }) {
    for (const { id, name, arguments: args, run } of calls) {
      if (told.has(id)) continue
      told.add(id)
      // If the chat cannot be reached, the next change of the inbox tries again.
      tell({ runId: run.id, toolCallId: id, text: `May I call ${name} with ${JSON.stringify(args)}?` }).catch(() =>
        told.delete(id),
      )
    }
  },
})

async function tell(message: object): Promise<void> {
  const body = JSON.stringify(message)
  const headers = { 'content-type': 'application/json', 'x-signature': sign(body) }
  const response = await fetch(WEBHOOK_URL!, { method: 'POST', headers, body })
  if (!response.ok) throw new Error(`The webhook answered ${response.status}.`)
}

interface Decision {
  readonly runId: string
  readonly toolCallId: string
  readonly approve: boolean
  readonly by: string
}

/** Says what happened. The server refuses a decision that is late or repeated, and gives the reason. */
async function decide({ runId, toolCallId, approve, by }: Decision): Promise<string> {
  const decision = approve ? { approve: { toolCallId } } : { deny: { toolCallId, reason: `${by} said no.` } }
  const { submitApprovals } = await client.request(SubmitApprovals, { input: { runId, decisions: [decision] } })
  if (submitApprovals?.__typename === 'SubmitApprovalsSuccess') return approve ? 'Approved.' : 'Denied.'
  return submitApprovals?.message ?? 'Nothing happened.'
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request)
  const given = Buffer.from(String(request.headers['x-signature']))
  const expected = Buffer.from(sign(body))
  if (request.url !== '/decisions' || request.method !== 'POST') return void response.writeHead(404).end()
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return void response.writeHead(401).end()
  try {
    response.end(await decide(JSON.parse(body) as Decision))
  } catch (error) {
    response.writeHead(400).end(String(error))
  }
}

const server = createServer((request, response) => void answer(request, response))
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  console.log(`ready http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/decisions`)
})
