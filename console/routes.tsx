import { Suspense, type ReactNode } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'

import { loadPage } from './data/load-page.ts'
import { AgentsPage } from './pages/agents-page.tsx'
import { AgentMainPage } from './pages/agent-main-page.tsx'
import { ConversationPage } from './pages/conversation-page.tsx'
import { InboxPage } from './pages/inbox-page.tsx'
import { NotFoundPage } from './pages/not-found-page.tsx'
import { Boundary } from './parts/boundary.tsx'
import { Skeleton } from './parts/skeleton.tsx'

// Pages that people seldom open first are loaded on demand.
const AgentFormPage = loadPage(async () => (await import('./pages/agent-form-page.tsx')).AgentFormPage)
const RunsPage = loadPage(async () => (await import('./pages/runs-page.tsx')).RunsPage)
const RunPage = loadPage(async () => (await import('./pages/run-page.tsx')).RunPage)
const ToolsPage = loadPage(async () => (await import('./pages/tools-page.tsx')).ToolsPage)
const MemoryPage = loadPage(async () => (await import('./pages/memory-page.tsx')).MemoryPage)
const SettingsPage = loadPage(async () => (await import('./pages/settings-page.tsx')).SettingsPage)

export function Routes(): ReactNode {
  const [path] = useLocation()
  return (
    <Boundary key={path}>
      <Suspense fallback={<Skeleton lines={6} />}>
        <Switch>
          <Route path="/">
            <Redirect to="/agents" replace />
          </Route>
          <Route path="/agents">
            <AgentsPage />
          </Route>
          <Route path="/agents/new">
            <AgentFormPage />
          </Route>
          <Route path="/agents/:id/edit">{({ id }) => <AgentFormPage key={id} id={id} />}</Route>
          <Route path="/agents/:id">{({ id }) => <AgentMainPage id={id} />}</Route>
          <Route path="/conversations/:id">{({ id }) => <ConversationPage key={id} id={id} />}</Route>
          <Route path="/inbox">
            <InboxPage />
          </Route>
          <Route path="/runs">
            <RunsPage />
          </Route>
          <Route path="/runs/:id">{({ id }) => <RunPage key={id} id={id} />}</Route>
          <Route path="/tools">
            <ToolsPage />
          </Route>
          <Route path="/memory">
            <MemoryPage />
          </Route>
          <Route path="/settings">
            <SettingsPage />
          </Route>
          <Route>
            <NotFoundPage />
          </Route>
        </Switch>
      </Suspense>
    </Boundary>
  )
}
