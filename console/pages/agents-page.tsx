import { useDeferredValue, useEffect, useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import { keepSubscribed } from '../../client/keep-subscribed.ts'
import { useClient } from '../../react/client-context.ts'
import { newKey } from '../../client/new-key.ts'
import { useInbox } from '../../react/use-inbox.ts'
import { createDemoAgent } from '../data/demo-agent.ts'
import { Agents, RunChanges } from '../data/documents.ts'
import { count } from '../data/format.ts'
import { useAction } from '../data/use-action.ts'
import { useGo } from '../data/use-here.ts'
import { usePages } from '../data/use-pages.ts'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { Problem } from '../parts/problem.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { Status } from '../parts/status.tsx'
import { Ago } from '../parts/time.tsx'

export function AgentsPage(): ReactNode {
  const client = useClient()
  const go = useGo()
  const [search, setSearch] = useState('')
  const nameContains = useDeferredValue(search.trim())
  const pages = usePages(Agents, { first: 50, filter: nameContains ? { nameContains } : null }, ({ agents }) => agents)
  const { calls } = useInbox()
  const [demoKey] = useState(newKey)
  const demo = useAction(async () => go(`/conversations/${await createDemoAgent(client, demoKey)}`))
  const { change } = pages

  useEffect(() => {
    let since = new Date().toISOString()
    return keepSubscribed(client, {
      document: RunChanges,
      variables: () => ({ since }),
      next({ runChanges: run }) {
        since = run.updatedAt
        change((nodes) =>
          nodes.map((agent) => (agent.id === run.agent.id ? { ...agent, runs: { nodes: [run] } } : agent)),
        )
      },
      refused: () => {},
    })
  }, [client])

  const waiting = Map.groupBy(calls, ({ agent }) => agent.id)
  const isEmpty = pages.isCurrent && pages.nodes?.length === 0
  return (
    <Page
      title="Agents"
      lead={pages.totalCount ? `${count(pages.totalCount)} ${pages.totalCount === 1 ? 'agent' : 'agents'}` : undefined}
      actions={
        <>
          <input
            type="search"
            aria-label="Search agents"
            placeholder="Search by name"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
          <Button look="primary" icon="plus" onClick={() => go('/agents/new')}>
            New agent
          </Button>
        </>
      }
    >
      <Loading of={pages} data={pages.nodes} lines={5} />
      {isEmpty && nameContains && (
        <Empty icon="agents" title={`No agent is called “${nameContains}”`}>
          <Button onClick={() => setSearch('')}>Show all agents</Button>
        </Empty>
      )}
      {isEmpty && !nameContains && (
        <Empty icon="agents" title="There is no agent yet">
          <p>
            An agent is a model with instructions, memory and tools. Make your own, or try one that works offline,
            without any key.
          </p>
          <Problem>{demo.problem}</Problem>
          <div className="row center">
            <Button look="primary" isBusy={demo.isBusy} onClick={() => demo.run()}>
              Try the demo agent
            </Button>
          </div>
        </Empty>
      )}
      {pages.nodes && pages.nodes.length > 0 && (
        <ul className="cards" aria-label="Agents">
          {pages.nodes.map((agent) => {
            const calls = waiting.get(agent.id)?.length ?? 0
            const run = agent.runs.nodes[0]
            return (
              <li key={agent.id} className="card">
                <header>
                  <span className="monogram" aria-hidden="true">
                    {monogramOf(agent.name)}
                  </span>
                  <div>
                    <h2>
                      <Link href={`/agents/${agent.id}`}>{agent.name}</Link>
                    </h2>
                    <span className="quiet mono">{agent.model}</span>
                  </div>
                </header>
                {agent.description && <p className="clamp">{agent.description}</p>}
                <footer>
                  {calls > 0 && (
                    <Link href="/inbox" className="status hold">
                      {calls} waiting
                    </Link>
                  )}
                  {run ? (
                    <span className="quiet">
                      {calls === 0 && <Status value={run.status} />} <Ago at={run.updatedAt} />
                    </span>
                  ) : (
                    <span className="quiet">Never used</span>
                  )}
                  <Link href={`/agents/${agent.id}/edit`} className="card-edit" aria-label={`Edit ${agent.name}`}>
                    Edit
                  </Link>
                </footer>
              </li>
            )
          })}
        </ul>
      )}
      <ShowMore of={pages} />
    </Page>
  )
}

/** The first letters of the first two words. */
function monogramOf(name: string): string {
  return name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => String.fromCodePoint(word.codePointAt(0) ?? 0x20).toUpperCase())
    .join('')
}
