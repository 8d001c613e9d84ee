import { useEffect, useState, type ReactNode } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'

import { keepSubscribed } from '../../client/keep-subscribed.ts'
import type { RunStatus } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { AgentNames, RunChanges, Runs } from '../data/documents.ts'
import { count, duration, words } from '../data/format.ts'
import { usePages } from '../data/use-pages.ts'
import { useQuery } from '../data/use-query.ts'
import { Button } from '../parts/button.tsx'
import { Cost } from '../parts/cost.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/field.tsx'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { Status } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'

const statuses: readonly RunStatus[] = ['QUEUED', 'RUNNING', 'AWAITING_APPROVAL', 'COMPLETED', 'FAILED', 'CANCELLED']
const spans = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const

export function RunsPage(): ReactNode {
  const client = useClient()
  const [, navigate] = useLocation()
  const [search, setSearch] = useSearchParams()
  const status = statuses.find((one) => one === search.get('status'))
  const agentId = search.get('agent') ?? ''
  const conversationId = search.get('conversation') ?? ''
  const span = (Object.keys(spans) as (keyof typeof spans)[]).find((one) => one === search.get('since'))
  const [openedAt] = useState(Date.now)
  const filter = {
    ...(status && { statuses: [status] }),
    ...(agentId && { agentIds: [agentId] }),
    ...(conversationId && { conversationId }),
    ...(span && { createdAfter: new Date(openedAt - spans[span]).toISOString() }),
  }
  const pages = usePages(Runs, { first: 50, filter }, ({ runs }) => runs)
  const agents = useQuery(AgentNames, {})
  const { change } = pages
  const key = JSON.stringify(filter)

  function set(name: string, value: string): void {
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        if (value) next.set(name, value)
        else next.delete(name)
        return next
      },
      { replace: true },
    )
  }

  useEffect(() => {
    let since = new Date().toISOString()
    return keepSubscribed(client, {
      document: RunChanges,
      variables: () => ({ since, agentIds: agentId ? [agentId] : null }),
      next({ runChanges: run }) {
        since = run.updatedAt
        change((nodes) => {
          const others = nodes.filter(({ id }) => id !== run.id)
          const fits = (!status || run.status === status) && (!conversationId || run.conversation.id === conversationId)
          if (!fits) return others
          if (others.length < nodes.length) return nodes.map((one) => (one.id === run.id ? run : one))
          return [run, ...nodes].toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))
        })
      },
      refused: () => {},
    })
  }, [client, key])

  return (
    <Page title="Runs" lead="Every turn that an agent took, newest first.">
      <div className="filters">
        <Field label="Status" as="select" value={status ?? ''} onChange={(event) => set('status', event.target.value)}>
          <option value="">Any</option>
          {statuses.map((one) => (
            <option key={one} value={one}>
              {words(one)}
            </option>
          ))}
        </Field>
        <Field label="Agent" as="select" value={agentId} onChange={(event) => set('agent', event.target.value)}>
          <option value="">Any</option>
          {agents.data?.agents.nodes.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Field>
        <Field label="Started" as="select" value={span ?? ''} onChange={(event) => set('since', event.target.value)}>
          <option value="">Any time</option>
          <option value="hour">In the last hour</option>
          <option value="day">In the last day</option>
          <option value="week">In the last week</option>
        </Field>
        {conversationId && (
          <Button icon="close" onClick={() => set('conversation', '')}>
            Only one conversation
          </Button>
        )}
      </div>
      <Loading of={pages} data={pages.nodes} lines={6} />
      {pages.nodes && (
        <Table
          label="Runs"
          className="stacked runs"
          rows={pages.nodes}
          onOpen={({ id }) => navigate(`/runs/${id}`)}
          columns={[
            { head: 'Status', cell: (run) => <Status value={run.status} /> },
            {
              head: 'Agent',
              className: 'name',
              cell: ({ agent }) => (
                <Link href={`/agents/${agent.id}`} title={agent.name}>
                  {agent.name}
                </Link>
              ),
            },
            {
              head: 'Message',
              className: 'cut',
              cell: (run) => (
                <Link href={`/runs/${run.id}`}>
                  {run.error?.message ?? (run.input.map(({ text }) => text).join(' ') || 'Background run')}
                </Link>
              ),
            },
            { head: 'Started', cell: (run) => <Ago at={run.createdAt} /> },
            {
              head: 'Took',
              className: 'number',
              cell: ({ startedAt, finishedAt }) =>
                startedAt && finishedAt ? duration(Date.parse(finishedAt) - Date.parse(startedAt)) : '–',
            },
            { head: 'Tokens', className: 'number', cell: ({ usage }) => count(usage.totalTokens) },
            { head: 'Cost', className: 'number', cell: ({ usage }) => <Cost usd={usage.costUsd} /> },
          ]}
          empty={
            pages.isCurrent && (
              <Empty icon="runs" title={key === '{}' ? 'There are no runs yet' : 'No run fits these filters'}>
                {key === '{}' ? (
                  <>
                    <p>A run appears here as soon as someone sends a message to an agent.</p>
                    <Link href="/agents" className="button primary">
                      Choose an agent to talk to
                    </Link>
                  </>
                ) : (
                  <Button onClick={() => setSearch({}, { replace: true })}>Show all runs</Button>
                )}
              </Empty>
            )
          }
        />
      )}
      <ShowMore of={pages} />
    </Page>
  )
}
