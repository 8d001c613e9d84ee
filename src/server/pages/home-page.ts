import type { ServerResponse } from 'node:http'

import { iconUrl } from './icon.ts'
import { contentSecurityPolicy } from './pages.ts'

export function sendHomePage(response: ServerResponse): void {
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentSecurityPolicy(["style-src 'unsafe-inline'", 'img-src data:']),
  })
  response.end(homePage)
}

const homePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdpoint</title>
<link rel="icon" href="${iconUrl}">
<style>
  :root { color-scheme: light dark; --ink: #22201d; --soft: #6d675f; --paper: #faf8f5; --line: #e4dfd7; --accent: #a8480f; }
  @media (prefers-color-scheme: dark) { :root { --ink: #ece8e1; --soft: #a39c91; --paper: #1a1816; --line: #38342f; --accent: #f0915a; } }
  * { box-sizing: border-box; }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 2rem 1.25rem; background: var(--paper); color: var(--ink); font: 1.0625rem/1.6 system-ui, sans-serif; }
  main { max-width: 38rem; }
  header { display: flex; align-items: center; gap: .75rem; }
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
</style>
</head>
<body>
<main>
  <header><img src="${iconUrl}" alt=""><h1>Holdpoint</h1></header>
  <p>An agent server whose one interface is GraphQL. Create agents, send messages, watch tokens and steps arrive,
  approve or deny what an agent wants to do, and cancel at any moment.</p>
  <dl>
    <div><dt><a href="/graphql">/graphql</a></dt><dd>GraphiQL, with example operations from a first agent to a cancelled run. Programs use the same address: POST for queries, mutations and event streams, WebSocket for subscriptions.</dd></div>
    <div><dt><a href="/healthz">/healthz</a></dt><dd>Is the process alive?</dd></div>
    <div><dt><a href="/readyz">/readyz</a></dt><dd>Can it do its work?</dd></div>
    <div><dt><a href="/schema.graphql">/schema.graphql</a></dt><dd>Every type and field. For caches of clients: <a href="/possible-types.json">/possible-types.json</a>.</dd></div>
  </dl>
  <p><small>The documentation is in the repository: <code>docs/quick-start.md</code> has a first conversation, <code>schema.graphql</code> every type and field.</small></p>
</main>
</body>
</html>
`
