import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

import { holdpoint, receive, type Event } from '../holdpoint.ts'

/**
 * Approvals in Slack. Point a Holdpoint webhook for APPROVAL_REQUESTED, APPROVAL_DECIDED and APPROVAL_EXPIRED at
 * /holdpoint, and the interactivity of a Slack app (scope chat:write) at /slack.
 */
const {
  HOLDPOINT_API_KEY,
  WEBHOOK_SECRET,
  SLACK_TOKEN,
  SLACK_SIGNING_SECRET,
  SLACK_CHANNEL,
  PORT = '4100',
} = process.env
const slackApi = process.env['SLACK_API'] ?? 'https://slack.com/api'
if (!HOLDPOINT_API_KEY || !WEBHOOK_SECRET || !SLACK_TOKEN || !SLACK_SIGNING_SECRET || !SLACK_CHANNEL)
  throw new Error('Set HOLDPOINT_API_KEY, WEBHOOK_SECRET, SLACK_TOKEN, SLACK_SIGNING_SECRET and SLACK_CHANNEL.')

interface Posted {
  readonly channel: string
  readonly ts: string
}

/** The message of each call, to be changed when somebody has decided. */
const messages = new Map<string, Posted>()

async function slack(method: string, body: object): Promise<Posted> {
  const response = await fetch(`${slackApi}/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8', authorization: `Bearer ${SLACK_TOKEN}` },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as Posted & { readonly ok: boolean; readonly error?: string }
  if (!answer.ok) throw new Error(`Slack refused ${method}: ${answer.error}`)
  return answer
}

const section = (markdown: string) => ({ type: 'section', text: { type: 'mrkdwn', text: markdown } })
/** Slack reads only these as markup. */
const plain = (given: string) => given.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function question({ data: { run, toolCall } }: Event) {
  const code = plain(JSON.stringify(toolCall!.arguments, null, 2).slice(0, 2_500))
  const link = run.url === null ? '' : ` (<${run.url}|run>)`
  return section(`*${plain(run.agentName)}* wants to call \`${toolCall!.name}\`${link}\n\`\`\`${code}\`\`\``)
}

async function tell(event: Event): Promise<void> {
  const { run, toolCall, decision } = event.data
  if (!toolCall) return
  if (event.type === 'APPROVAL_REQUESTED') {
    const value = JSON.stringify({ runId: run.id, toolCallId: toolCall.id })
    const button = (action_id: string, label: string, style: string) => ({
      ...{ type: 'button', action_id, value, style },
      text: { type: 'plain_text', text: label },
    })
    const elements = [button('approve', 'Approve', 'primary'), button('deny', 'Deny', 'danger')]
    const posted = await slack('chat.postMessage', {
      channel: SLACK_CHANNEL,
      text: `${run.agentName} wants to call ${toolCall.name}`,
      blocks: [question(event), { type: 'actions', elements }],
    })
    messages.set(toolCall.id, posted)
    return
  }
  const posted = messages.get(toolCall.id)
  if (!posted) return
  const outcome = decision
    ? `${decision.kind} by ${decision.decidedBy?.name}`
    : 'DENIED, because nobody decided in time'
  const { channel, ts } = posted
  await slack('chat.update', { channel, ts, text: outcome, blocks: [question(event), section(plain(outcome))] })
  messages.delete(toolCall.id)
}

/** https://api.slack.com/authentication/verifying-requests-from-slack */
function isFromSlack({ headers }: IncomingMessage, body: string): boolean {
  const timestamp = String(headers['x-slack-request-timestamp'])
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false
  const hash = createHmac('sha256', SLACK_SIGNING_SECRET!).update(`v0:${timestamp}:${body}`).digest('hex')
  const [expected, given] = [Buffer.from(`v0=${hash}`), Buffer.from(String(headers['x-slack-signature']))]
  return given.length === expected.length && timingSafeEqual(given, expected)
}

const createToken = 'mutation ($input: CreateTokenInput!) { createToken(input: $input) { token } }'
const submitApprovals = `mutation ($input: SubmitApprovalsInput!) {
  submitApprovals(input: $input) { __typename ... on Refusal { message } } }`

interface Click {
  readonly user: { readonly id: string; readonly name: string; readonly team_id: string }
  readonly actions: readonly [{ readonly action_id: string; readonly value: string }]
  readonly response_url: string
}

/** Decides with a token of the person who clicked, so Holdpoint records who it was and applies its rules to them. */
async function decide({ user, actions: [action], response_url }: Click): Promise<void> {
  const { runId, toolCallId } = JSON.parse(action.value) as { runId: string; toolCallId: string }
  const person = {
    subject: `slack:${user.team_id}:${user.id}`,
    name: user.name,
    scopes: ['APPROVE'],
    expiresInSeconds: 60,
  }
  const token = (await holdpoint(HOLDPOINT_API_KEY!, createToken, person)).createToken.token as string
  const decision = action.action_id === 'approve' ? { approve: { toolCallId } } : { deny: { toolCallId } }
  const { submitApprovals: result } = await holdpoint(token, submitApprovals, { runId, decisions: [decision] })
  // A decision that counts changes the message by its event. Only the person sees why one did not.
  if (result.message === undefined) return
  const body = JSON.stringify({ response_type: 'ephemeral', replace_original: false, text: result.message })
  await fetch(response_url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'POST' && request.url === '/holdpoint')
    return receive(WEBHOOK_SECRET!, request, response, tell)
  if (request.method !== 'POST' || request.url !== '/slack') return void response.writeHead(404).end()
  const body = await text(request)
  if (!isFromSlack(request, body)) return void response.writeHead(401).end()
  // Slack wants an answer within 3 seconds, whatever comes of the click.
  response.writeHead(200).end()
  const click = JSON.parse(new URLSearchParams(body).get('payload') ?? '{}') as Click
  await decide(click).catch((error: unknown) => console.error(error))
}

const server = createServer((request, response) => void answer(request, response))
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  console.log(`ready http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
})
