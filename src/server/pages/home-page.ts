import type { ServerResponse } from 'node:http'

import { createPage, iconUrl } from './pages.ts'

const sendPage = createPage({
  title: 'Holdpoint',
  style: `
body { min-height: 100vh; display: grid; place-items: center; padding: 2rem 1.25rem; }
img { width: 2.25rem; height: 2.25rem; }
h1 { margin: 0; font-size: 1.75rem; letter-spacing: -.01em; }
p { margin: 1rem 0; }
dl { margin: 2rem 0; border-top: 1px solid var(--line); }
dl > div { display: grid; grid-template-columns: 8.5rem 1fr; gap: 1rem; padding: .75rem 0; border-bottom: 1px solid var(--line); }
dd { margin: 0; color: var(--soft); }
@media (max-width: 30rem) { dl > div { grid-template-columns: 1fr; gap: .25rem; } }
a, code { font-family: ui-monospace, monospace; font-size: .95em; }
a { color: var(--accent); }
small { color: var(--soft); }
`,
})

export function sendHomePage(response: ServerResponse): void {
  sendPage(response, 200, content)
}

const content = `<header><img src="${iconUrl}" alt=""><h1>Holdpoint</h1></header>
  <p>An agent server whose one interface is GraphQL. Create agents, send messages, watch tokens and steps arrive,
  approve or deny what an agent wants to do, and cancel at any moment.</p>
  <dl>
    <div><dt><a href="/graphql">/graphql</a></dt><dd>GraphiQL, with example operations from a first agent to a cancelled run. Programs use the same address: POST for queries, mutations and event streams, WebSocket for subscriptions.</dd></div>
    <div><dt><a href="/healthz">/healthz</a></dt><dd>Is the process alive?</dd></div>
    <div><dt><a href="/readyz">/readyz</a></dt><dd>Can it do its work?</dd></div>
    <div><dt><a href="/schema.graphql">/schema.graphql</a></dt><dd>Every type and field. For caches of clients: <a href="/possible-types.json">/possible-types.json</a>.</dd></div>
  </dl>
  <p><small>The documentation is in the repository: <code>docs/quick-start.md</code> has a first conversation, <code>schema.graphql</code> every type and field.</small></p>`
