import type { ReactNode } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'

import { AgentFormPage } from './pages/agent-form-page.tsx'
import { ArchivePage } from './pages/archive-page.tsx'
import { AgentsPage } from './pages/agents-page.tsx'
import { AgentMainPage } from './pages/agent-main-page.tsx'
import { BudgetsPage } from './pages/budgets-page.tsx'
import { ConversationPage } from './pages/conversation-page.tsx'
import { DecidedPage, InboxPage } from './pages/inbox-page.tsx'
import { MemoryPage } from './pages/memory-page.tsx'
import { NotFoundPage } from './pages/not-found-page.tsx'
import { RunPage } from './pages/run-page.tsx'
import { RunsPage } from './pages/runs-page.tsx'
import { SchedulesPage } from './pages/schedules-page.tsx'
import { SettingsPage } from './pages/settings-page.tsx'
import { ToolsPage } from './pages/tools-page.tsx'
import { UsagePage } from './pages/usage-page.tsx'
import { WebhookPage, WebhooksPage } from './pages/webhooks-page.tsx'
import { Boundary } from './parts/boundary.tsx'

export function Routes(): ReactNode {
  const [path] = useLocation()
  return (
    <Boundary key={path}>
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
        <Route path="/agents/:id/archive">{({ id }) => <ArchivePage key={id} id={id} />}</Route>
        <Route path="/agents/:id">{({ id }) => <AgentMainPage id={id} />}</Route>
        <Route path="/conversations/:id">{({ id }) => <ConversationPage key={id} id={id} />}</Route>
        <Route path="/inbox">
          <InboxPage />
        </Route>
        <Route path="/inbox/decided">
          <DecidedPage />
        </Route>
        <Route path="/runs">
          <RunsPage />
        </Route>
        <Route path="/runs/:id">{({ id }) => <RunPage key={id} id={id} />}</Route>
        <Route path="/schedules">
          <SchedulesPage />
        </Route>
        <Route path="/usage">
          <UsagePage />
        </Route>
        <Route path="/budgets">
          <BudgetsPage />
        </Route>
        <Route path="/tools">
          <ToolsPage />
        </Route>
        <Route path="/memory">
          <MemoryPage />
        </Route>
        <Route path="/webhooks">
          <WebhooksPage />
        </Route>
        <Route path="/webhooks/:id">{({ id }) => <WebhookPage key={id} id={id} />}</Route>
        <Route path="/settings">
          <SettingsPage />
        </Route>
        <Route>
          <NotFoundPage />
        </Route>
      </Switch>
    </Boundary>
  )
}
