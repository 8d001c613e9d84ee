import type { ReactNode } from 'react'

import type { SettingsData } from '../data/documents.ts'
import { count } from '../data/format.ts'

type Model = SettingsData['models'][number]

/** The models that agents can use, configured ones first. */
export function ModelTable({ models }: { readonly models: readonly Model[] }): ReactNode {
  const ready = models.filter(({ isConfigured }) => isConfigured)
  const rest = models.filter(({ isConfigured }) => !isConfigured)
  const providers = [...new Set(rest.map(({ provider }) => provider))]
  return (
    <section aria-labelledby="models">
      <h2 id="models">Models</h2>
      <div className="data tall" tabIndex={0} role="group" aria-label="List of models">
        <table aria-label="Models">
          <thead>
            <tr>
              <th scope="col">Handle</th>
              <th scope="col">Provider</th>
              <th scope="col" className="number">
                Context window
              </th>
              <th scope="col">Key</th>
            </tr>
          </thead>
          <tbody>
            {[...ready, ...rest].map((model) => (
              <tr key={model.handle}>
                <td className="mono">{model.handle}</td>
                <td>{model.provider}</td>
                <td className="number">{count(model.contextWindow)}</td>
                <td>
                  {model.isConfigured ? (
                    <span className="status good">Ready</span>
                  ) : (
                    <span className="status quiet">No key</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {providers.length > 0 && (
        <p className="hint">
          No key is set for {providers.join(', ')}. Set it in the server’s environment and start the server again.
        </p>
      )}
    </section>
  )
}
