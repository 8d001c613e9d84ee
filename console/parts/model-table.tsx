import type { ReactNode } from 'react'

import type { SettingsData } from '../data/documents.ts'
import { count } from '../data/format.ts'
import { Table } from './table.tsx'

type Model = SettingsData['models'][number]

/** The models that agents can use, configured ones first. */
export function ModelTable({ models }: { readonly models: readonly Model[] }): ReactNode {
  const ready = models.filter(({ isConfigured }) => isConfigured)
  const rest = models.filter(({ isConfigured }) => !isConfigured)
  const providers = [...new Set(rest.map(({ provider }) => provider))]
  return (
    <section aria-labelledby="models">
      <h2 id="models">Models</h2>
      <Table
        label="Models"
        className="tall"
        rows={[...ready, ...rest].map((model) => ({ ...model, id: model.handle }))}
        columns={[
          { head: 'Handle', className: 'mono', cell: ({ handle }) => handle },
          { head: 'Provider', cell: ({ provider }) => provider },
          { head: 'Context window', className: 'number', cell: ({ contextWindow }) => count(contextWindow) },
          {
            head: 'Key',
            cell: ({ isConfigured }) =>
              isConfigured ? <span className="status good">Ready</span> : <span className="status quiet">No key</span>,
          },
        ]}
      />
      {providers.length > 0 && (
        <p className="hint">
          No key is set for {providers.join(', ')}. Set it in the server’s environment and start the server again.
        </p>
      )}
    </section>
  )
}
