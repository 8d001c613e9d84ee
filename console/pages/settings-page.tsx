import { useState, type ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import { ApiKeys, RevokeApiKey, Settings, Workers } from '../data/documents.ts'
import { useSession } from '../data/session.ts'
import { useEdited } from '../data/use-edited.ts'
import { useQuery } from '../data/use-query.ts'
import { AuditLog } from '../parts/audit-log.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Loading } from '../parts/loading.tsx'
import { ModelTable } from '../parts/model-table.tsx'
import { NewKey } from '../parts/new-key.tsx'
import { Page } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'
import { WorkerTable } from '../parts/worker-table.tsx'

export function SettingsPage(): ReactNode {
  const client = useClient()
  const session = useSession()
  const settings = useQuery(Settings, {})
  const keys = useQuery(ApiKeys, {})
  const workers = useQuery(Workers, {})
  const [isNew, setNew] = useEdited()
  const [going, setGoing] = useState<{ readonly id: string; readonly name: string }>()
  const revoke = async (id: string): Promise<void> => {
    await client.request(RevokeApiKey, { input: { id } })
    await keys.refetch()
  }
  const viewer = session.phase === 'READY' ? session.viewer : undefined
  const isOpen = viewer?.actor.kind === 'OPEN'
  return (
    <Page
      title="Settings"
      lead={
        viewer && (
          <>
            {isOpen ? openness(keys.data?.apiKeys.length) : `Signed in as ${viewer.actor.name}. `}
            Scopes: {viewer.scopes.join(', ')}.
          </>
        )
      }
    >
      <section aria-labelledby="keys">
        <header className="page-head">
          <h2 id="keys">API keys</h2>
          <Button look="primary" icon="plus" onClick={() => setNew('new')}>
            New key
          </Button>
        </header>
        <Loading of={keys} data={keys.data} />
        {keys.data && (
          <Table
            label="API keys"
            rows={keys.data.apiKeys}
            columns={[
              { head: 'Name', className: 'name', cell: ({ name }) => <span title={name}>{name}</span> },
              { head: 'Scopes', cell: ({ scopes }) => scopes.join(', ').toLowerCase() },
              { head: 'Created', cell: ({ createdAt }) => <Ago at={createdAt} /> },
              { head: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt ? <Ago at={lastUsedAt} /> : 'never') },
              {
                head: '',
                cell: (key) =>
                  key.revokedAt ? (
                    <span className="status quiet">
                      Revoked <Ago at={key.revokedAt} />
                    </span>
                  ) : (
                    <Button look="danger" onClick={() => setGoing(key)}>
                      Revoke
                    </Button>
                  ),
              },
            ]}
            empty={
              <p className="quiet empty-row">
                {isOpen
                  ? 'There are no keys, and none is needed on this machine.'
                  : 'There are no keys here. HOLDPOINT_API_KEY, if it is set, is not listed.'}
              </p>
            }
          />
        )}
      </section>
      {workers.data?.workers != null && <WorkerTable workers={workers.data.workers} />}
      <section aria-labelledby="api">
        <h2 id="api">API</h2>
        <p>
          Everything here is done through the public GraphQL API. <a href="/graphql">Open GraphiQL</a> to try queries.
        </p>
      </section>
      <Loading of={settings} data={settings.data} />
      {settings.data && <ModelTable models={settings.data.models} />}
      {viewer?.scopes.includes('MANAGE') && <AuditLog />}
      {isNew && (
        <NewKey
          closesServer={isOpen && keys.data?.apiKeys.every(({ revokedAt }) => revokedAt) === true}
          onClose={() => {
            setNew(undefined)
            void keys.refetch()
          }}
        />
      )}
      {going && (
        <Confirm
          key={going.id}
          title={`Revoke ${going.name}?`}
          verb="Revoke key"
          act={() => revoke(going.id)}
          onClose={() => setGoing(undefined)}
        >
          Programs that use it are cut off at once. This cannot be undone.
        </Confirm>
      )}
    </Page>
  )
}

/** The server looks for keys when it starts, and counts those that were revoked. */
function openness(keyCount: number | undefined): string {
  return keyCount
    ? 'This server is open until its next start: then it requires a key, because one was created. '
    : 'This server is open: it asks nobody for a key. '
}
