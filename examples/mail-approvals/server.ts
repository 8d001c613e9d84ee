import { createServer } from 'node:http'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

import { holdpoint, receive, type Event } from '../holdpoint.ts'

/**
 * Approvals by mail. Point a Holdpoint webhook for APPROVAL_REQUESTED at /holdpoint. Every call that waits becomes a
 * mail to each approver, with a link that decides in their name. Holdpoint needs HOLDPOINT_PUBLIC_URL for links.
 */
const { HOLDPOINT_API_KEY, WEBHOOK_SECRET, APPROVERS, MAIL_FROM, PORT = '4100' } = process.env
const { SMTP_HOST = '127.0.0.1', SMTP_PORT = '25' } = process.env
if (!HOLDPOINT_API_KEY || !WEBHOOK_SECRET || !APPROVERS || !MAIL_FROM)
  throw new Error('Set HOLDPOINT_API_KEY, WEBHOOK_SECRET, APPROVERS (name <address>, …) and MAIL_FROM.')

const approvers = APPROVERS.split(',').map((one) => {
  const [, name = '', address = ''] = /^\s*(.*?)\s*<([^<>\s]+@[^<>\s]+)>\s*$/.exec(one) ?? []
  if (address === '') throw new Error(`APPROVERS: "${one}" is not of the form name <address>.`)
  return { name, address }
})

const createDecisionLink = `mutation ($input: CreateDecisionLinkInput!) {
  createDecisionLink(input: $input) { url expiresAt } }`

async function tell({ type, data: { run, toolCall } }: Event, id: string): Promise<void> {
  if (type !== 'APPROVAL_REQUESTED' || !toolCall) return
  for (const { name, address } of approvers) {
    const person = { toolCallId: toolCall.id, personId: address, personName: name }
    const { createDecisionLink: link } = await holdpoint(HOLDPOINT_API_KEY!, createDecisionLink, person)
    await sendMail({
      to: address,
      subject: `${run.agentName} wants to call ${toolCall.name}`,
      // The same delivery makes the same mail, so a mail server can drop what comes twice.
      messageId: `<${id}.${address}>`,
      text: [
        `${run.agentName} wants to call ${toolCall.name} with`,
        JSON.stringify(toolCall.arguments, null, 2),
        `Approve or deny: ${link.url}`,
        `The link is yours alone, and ends at ${link.expiresAt}.`,
      ].join('\n\n'),
    })
  }
}

interface Mail {
  readonly to: string
  readonly subject: string
  readonly messageId: string
  readonly text: string
}

/** Plain SMTP, for a relay on this machine. If yours needs TLS or a password, use nodemailer instead. */
async function sendMail({ to, subject, messageId, text }: Mail): Promise<void> {
  const socket = connect(Number(SMTP_PORT), SMTP_HOST)
  socket.setTimeout(10_000, () => socket.destroy(new Error('The mail server does not answer.')))
  const replies = createInterface({ input: socket })[Symbol.asyncIterator]()
  const failed = new Promise<never>((_resolve, reject) => socket.once('error', reject))
  /** Sends a command and waits for its reply, which may have several lines. */
  const say = async (command: string | undefined, expected: number): Promise<void> => {
    if (command !== undefined) socket.write(`${command}\r\n`)
    for (;;) {
      const { value: line = '' } = await Promise.race([replies.next(), failed])
      if (line.startsWith(`${expected}-`)) continue
      if (!line.startsWith(String(expected))) throw new Error(`The mail server answered "${line}" to ${command}.`)
      return
    }
  }
  try {
    await say(undefined, 220)
    await say('EHLO holdpoint-mail', 250)
    await say(`MAIL FROM:<${MAIL_FROM}>`, 250)
    await say(`RCPT TO:<${to}>`, 250)
    await say('DATA', 354)
    const encoded = `=?utf-8?B?${Buffer.from(subject).toString('base64')}?=`
    const head = [`From: <${MAIL_FROM}>`, `To: <${to}>`, `Subject: ${encoded}`, `Message-ID: ${messageId}`]
    const type = ['MIME-Version: 1.0', 'Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: base64']
    const body = Buffer.from(text).toString('base64').replaceAll(/.{76}/g, '$&\r\n')
    await say([...head, ...type, `Date: ${new Date().toUTCString()}`, '', body, '.'].join('\r\n'), 250)
    await say('QUIT', 221)
  } finally {
    failed.catch(() => undefined)
    socket.destroy()
  }
}

const server = createServer((request, response) => {
  if (request.method !== 'POST' || request.url !== '/holdpoint') return void response.writeHead(404).end()
  void receive(WEBHOOK_SECRET, request, response, tell)
})
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  console.log(`ready http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
})
