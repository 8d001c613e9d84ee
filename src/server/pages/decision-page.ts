import type { IncomingMessage, ServerResponse } from 'node:http'

import type { DecisionView } from '../../auth/decision-links.ts'
import { createPage, iconUrl, sendError } from './pages.ts'

/** What is behind the links. An unknown link is undefined, or false. */
export interface Decisions {
  open(token: string): Promise<DecisionView | 'gone' | undefined>
  decide(token: string, decision: { readonly approves: boolean; readonly reason: string }): Promise<boolean>
}

const prefix = '/decide/'

export function isDecisionPath(path: string): boolean {
  return path.startsWith(prefix)
}

const maxBodyBytes = 64 * 1024

/**
 * The page of a decision link. The link itself is the permission, so any page of any origin may post the form (browsers
 * send `Origin: null` from here), and nothing here may write the address into a log.
 */
export function createDecisionPage({ open, decide }: Decisions) {
  return async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    const token = path.slice(prefix.length)
    response.setHeader('cache-control', 'no-store')
    response.setHeader('x-robots-tag', 'noindex')
    if (request.method === 'POST') {
      const form = new URLSearchParams(await readBody(request))
      const decision = form.get('decision')
      if (decision !== 'approve' && decision !== 'deny')
        return sendError(response, 400, 'The form must have the field `decision`, which is `approve` or `deny`.')
      const isKnown = await decide(token, { approves: decision === 'approve', reason: form.get('reason') ?? '' })
      if (!isKnown) return send(response, 404, unknownLink)
      // Relative, because a proxy may have put a path before it.
      response.writeHead(303, { location: token }).end()
      return
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD, POST')
      return sendError(response, 405, 'This address answers GET, HEAD and POST only.')
    }
    const shown = await open(token)
    if (!shown) return send(response, 404, unknownLink)
    send(response, 200, shown === 'gone' ? deletedCall : contentOf(shown))
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBodyBytes) return ''
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const unknownLink = '<h1>Unknown link</h1><p>This address is not complete, or this server did not make it.</p>'
const deletedCall =
  '<h1>Deleted</h1><p>The conversation that asked was deleted. There is nothing to decide any more.</p>'

function contentOf(shown: DecisionView): string {
  const { agentName, toolName, askedBy, askedAt, until, approvedBy, approvalsRequired, state } = shown
  const json = JSON.stringify(shown.arguments, null, 2)
  const isShared = approvalsRequired > 1
  return `<h1>${escape(agentName)} wants to call <code>${escape(toolName)}</code></h1>
${outcomeOf(shown)}
<pre tabindex="0" aria-label="Arguments">${escape(json)}</pre>
<dl>
<div><dt>Asked by</dt><dd>${escape(askedBy ?? 'a background run')}</dd></div>
<div><dt>Asked at</dt><dd>${time(askedAt)}</dd></div>
${state.kind === 'open' ? `<div><dt>Decide by</dt><dd>${time(until)}</dd></div>` : ''}
${isShared ? `<div><dt>Approved by</dt><dd>${escape(approvedBy.join(', ') || 'nobody yet')} (${approvedBy.length} of ${approvalsRequired})</dd></div>` : ''}
</dl>
${state.kind === 'open' ? formOf(shown, state) : ''}`
}

function outcomeOf({ personName, state }: DecisionView): string {
  if (state.kind === 'open') return ''
  if (state.kind === 'closed') return `<p class="outcome">${closings[state.why]}</p>`
  if (state.by === null) return '<p class="outcome denied">Denied, because nobody decided in time.</p>'
  const verb = { APPROVED: 'Approved', DENIED: 'Denied', CLIENT_RETURN: 'Answered' }[state.decision]
  const who = `${escape(state.by)}${state.by === personName ? ' (you)' : ''}`
  const reason = state.reason === null ? '' : `<br><q>${escape(state.reason)}</q>`
  return `<p class="outcome ${state.decision.toLowerCase()}">${verb} by ${who}, ${time(state.at)}${reason}</p>`
}

const closings = {
  cancelled: 'This call no longer waits: its run was cancelled or has ended.',
  expired: 'This link has expired. Ask for a new one.',
  revoked: 'This link was revoked. Ask for a new one.',
} as const

function formOf({ personName }: DecisionView, state: Extract<DecisionView['state'], { kind: 'open' }>): string {
  const note = !state.mayApprove
    ? '<p>You started this run, and its tool wants somebody else to approve. You can deny.</p>'
    : state.hasApproved
      ? '<p>You have approved. Others must approve too. You can still deny.</p>'
      : ''
  const approve =
    state.mayApprove && !state.hasApproved ? '<button name="decision" value="approve">Approve</button>' : ''
  return `<form method="post">
${note}
<label for="reason">Reason, if you deny (the agent reads it)</label>
<textarea id="reason" name="reason" rows="2" maxlength="2000"></textarea>
<div class="buttons">${approve}<button name="decision" value="deny" class="deny">Deny</button></div>
<p><small>You decide as ${escape(personName)}.</small></p>
</form>`
}

function time(at: Date): string {
  const text = `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return `<time datetime="${at.toISOString()}">${text}</time>`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character)
}

const sendPage = createPage({
  title: 'Decision · Holdpoint',
  hasForm: true,
  style: `
body { padding: 1.5rem 1rem; }
main { margin: 0 auto; }
header { gap: .5rem; color: var(--soft); }
header img { width: 1.5rem; height: 1.5rem; }
h1 { margin: 1.25rem 0 1rem; font-size: 1.375rem; line-height: 1.3; overflow-wrap: anywhere; }
pre { margin: 1rem 0; padding: .875rem 1rem; max-height: 50vh; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; font: .9375rem/1.5 ui-monospace, monospace; }
dl { margin: 1rem 0; }
dl > div { display: grid; grid-template-columns: 7rem 1fr; gap: .75rem; padding: .375rem 0; border-bottom: 1px solid var(--line); }
dt, small, label { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
textarea { display: block; width: 100%; margin: .375rem 0 1rem; padding: .625rem .75rem; font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; }
button { flex: 1 1 9rem; min-height: 3rem; padding: .5rem 1rem; font: inherit; font-weight: 600; color: var(--paper); background: var(--good); border: 1px solid transparent; border-radius: .5rem; cursor: pointer; }
button.deny { color: var(--bad); background: transparent; border-color: var(--bad); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.outcome { padding: .75rem 1rem; border-left: 4px solid var(--soft); background: var(--card); }
.outcome.approved { border-color: var(--good); } .outcome.denied { border-color: var(--bad); }
`,
})

function send(response: ServerResponse, status: number, content: string): void {
  sendPage(response, status, `<header><img src="${iconUrl}" alt=""><span>Holdpoint</span></header>\n${content}`)
}
